package jobfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"culvert/mask"
)

// Masks are rules for columns, in their order, each as the flag --mask has it: PATTERN=RULE.
type Masks []string

// DecodeNode implements [Decoder]: in the file, each pattern has its rule after a colon.
func (m *Masks) DecodeNode(node ast.Node) error {
	entries, err := entriesOf(node)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		var pattern, rule string
		if entry.Value.Type() == ast.NullType {
			rule = "null" // which YAML takes for its own
		} else if err := Decode(entry.Value, &rule); err != nil {
			return err
		}
		if err := decodePattern(entry.Key, &pattern, 3); err != nil {
			return err
		}
		if _, err := mask.ParseRule(rule); err != nil && strings.TrimSpace(rule) != "none" {
			return Wrong(entry.Value, strings.TrimPrefix(err.Error(), "mask: "), "see: culvert help masks")
		}
		if strings.Contains(pattern, "=") {
			return Wrong(entry.Key, fmt.Sprintf("the pattern %q has an equals sign", pattern), "write ? in its place")
		}
		*m = append(*m, pattern+"="+rule)
	}
	return nil
}

// JSONSchema implements [Schemer].
func (Masks) JSONSchema() map[string]any {
	return map[string]any{"type": "object", "additionalProperties": map[string]any{"type": []string{"string", "null"}}}
}

// Key says where the key of masks is.
type Key struct {
	File string `yaml:"file" doc:"The file of the key, as for --mask-key."`
}

// Programs are the files of programs by the names that rules have for them.
type Programs map[string]string

// texts returns each as the flag --mask-program has it.
func (p Programs) texts() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(p)) {
		all = append(all, name+"="+p[name])
	}
	return all
}
