package jobfile

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"culvert/convert"
	"culvert/format/charset"
	"culvert/source"
)

// Conversions are rules for columns, in their order, each as the flag --convert has it: PATTERN=RULE.
type Conversions []string

// DecodeNode implements [Decoder]: in the file, each pattern has its rule after a colon, or a list of rules.
func (c *Conversions) DecodeNode(node ast.Node) error {
	entries, err := entriesOf(node)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		var pattern string
		if err := decodePattern(entry.Key, &pattern, 3); err != nil {
			return err
		}
		if strings.Contains(pattern, "=") {
			return Wrong(entry.Key, fmt.Sprintf("the pattern %q has an equals sign", pattern), "write ? in its place")
		}
		values := []ast.Node{entry.Value}
		if list, is := entry.Value.(*ast.SequenceNode); is {
			values = list.Values
		}
		for _, value := range values {
			var rule string
			if err := Decode(value, &rule); err != nil {
				return err
			}
			parser := convert.Parser{Charset: charset.Decoder, SQL: later}
			if _, err := parser.Parse(pattern, rule); err != nil {
				return Wrong(value, strings.TrimPrefix(err.Error(), "convert: "), "see: culvert help conversions")
			}
			*c = append(*c, pattern+"="+rule)
		}
	}
	return nil
}

// later stands for the value of an expression, which is asked for when the file is used.
func later(string) (source.Kind, []byte, error) { return source.Text, nil, nil }

// JSONSchema implements [Schemer].
func (Conversions) JSONSchema() map[string]any {
	rule := map[string]any{"type": "string"}
	return map[string]any{"type": "object", "additionalProperties": map[string]any{
		"oneOf": []any{rule, map[string]any{"type": "array", "items": rule}},
	}}
}
