package jobfile

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Decoder is implemented by types of the file that may be written in several ways.
type Decoder interface {
	// DecodeNode reads a node. The errors are those of [Wrong] and [Decode].
	DecodeNode(node ast.Node) error
}

// decodeFile reads the only document of a file.
func decodeFile(name string, text []byte, into *File) error {
	err := decodeText(text, into)
	if wrong, is := errors.AsType[*Error](err); is {
		wrong.File = name
	}
	return err
}

func decodeText(text []byte, into *File) error {
	file, err := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
	if syntax, is := errors.AsType[yaml.Error](err); is {
		at := syntax.GetToken()
		if at == nil || at.Position == nil {
			return &Error{Text: "it is not YAML: " + syntax.GetMessage()}
		}
		return &Error{
			Line: at.Position.Line, Column: at.Position.Column, Text: "it is not YAML: " + syntax.GetMessage(),
			Hint: "put quotes around texts with *, #, { or a colon in them",
		}
	}
	if err != nil {
		return &Error{Text: "it is not YAML: " + err.Error()}
	}
	var documents []ast.Node
	for _, document := range file.Docs {
		if document.Body != nil {
			documents = append(documents, document.Body)
		}
	}
	switch len(documents) {
	case 0:
		return &Error{Text: "it is empty", Hint: "see: culvert help jobs-file"}
	case 1:
		if err := Decode(documents[0], into); err != nil {
			return err
		}
		return into.check()
	}
	return Wrong(documents[1], "a second document", "write each job into a file of its own")
}

// Wrong returns the [*Error] that something at a node is wrong.
func Wrong(node ast.Node, text, hint string) error {
	switch mapping := node.(type) { // whose token is a colon
	case *ast.MappingValueNode:
		node = mapping.Key
	case *ast.MappingNode:
		if !mapping.IsFlowStyle && len(mapping.Values) > 0 {
			node = mapping.Values[0].Key
		}
	}
	e := &Error{Text: text, Hint: hint}
	if token := node.GetToken(); token != nil && token.Position != nil {
		e.Line, e.Column = token.Position.Line, token.Position.Column
	}
	return e
}

// Decode reads a node into the value that into points to. The rules are those of the types: each key of a mapping is
// the name of a field, or of the field that is inline, and may be there once. Anchors and aliases are refused, since
// what a file does should be read where it stands. The error is an [*Error].
func Decode(node ast.Node, into any) error { return decode(node, reflect.ValueOf(into).Elem()) }

func decode(node ast.Node, v reflect.Value) error {
	if d, is := v.Addr().Interface().(Decoder); is {
		return d.DecodeNode(node)
	}
	if tagged, is := node.(*ast.TagNode); is {
		return Wrong(tagged, "a tag", "write the value without it")
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return decode(node, v.Elem())
	case reflect.Struct, reflect.Map:
		return decodeMapping(node, v)
	case reflect.Slice:
		return decodeList(node, v)
	case reflect.String:
		return decodeString(node, v)
	case reflect.Bool:
		if is, ok := node.(*ast.BoolNode); ok {
			v.SetBool(is.Value)
			return nil
		}
		return unexpected(node, "true or false")
	case reflect.Int:
		if number, ok := node.(*ast.IntegerNode); ok {
			if value, fits := number.Value.(uint64); fits && value <= largest {
				v.SetInt(int64(value))
				return nil
			}
		}
		return unexpected(node, fmt.Sprintf("a number from 0 to %d", largest))
	}
	panic(fmt.Sprintf("jobfile: the decoder has no rule for %s", v.Type()))
}

// largest is the most of a number, for each of which there is a smaller bound elsewhere.
const largest = math.MaxInt32

func decodeString(node ast.Node, v reflect.Value) error {
	switch text := node.(type) {
	case *ast.StringNode:
		v.SetString(text.Value)
	case *ast.LiteralNode:
		v.SetString(text.Value.Value)
	default:
		return unexpected(node, "a text")
	}
	return nil
}

func decodeList(node ast.Node, v reflect.Value) error {
	list, is := node.(*ast.SequenceNode)
	if !is {
		return unexpected(node, "a list")
	}
	v.Set(reflect.MakeSlice(v.Type(), len(list.Values), len(list.Values)))
	for i, one := range list.Values {
		if err := decode(one, v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

// entriesOf returns the entries of a mapping.
func entriesOf(node ast.Node) ([]*ast.MappingValueNode, error) {
	switch mapping := node.(type) {
	case *ast.MappingNode:
		return mapping.Values, nil
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{mapping}, nil
	}
	return nil, unexpected(node, "names with values")
}

func decodeMapping(node ast.Node, v reflect.Value) error {
	entries, err := entriesOf(node)
	if err != nil {
		return err
	}
	fields := fieldsOf(v)
	seen := map[string]bool{}
	for _, entry := range entries {
		key, is := entry.Key.(*ast.StringNode)
		switch {
		case !is:
			return Wrong(entry.Key, "a name that is not a text", "put quotes around it")
		case seen[key.Value]:
			return Wrong(key, fmt.Sprintf("%q is there twice", key.Value), "write both into one")
		}
		seen[key.Value] = true
		if field, known := fields.named[key.Value]; known {
			if err := decode(entry.Value, field); err != nil {
				return err
			}
			continue
		}
		if !fields.others.IsValid() {
			return Wrong(key, fmt.Sprintf("there is no field %q", key.Value), fields.hint(key.Value))
		}
		if fields.others.IsNil() {
			fields.others.Set(reflect.MakeMap(fields.others.Type()))
		}
		value := reflect.New(fields.others.Type().Elem()).Elem()
		name := reflect.New(fields.others.Type().Key()).Elem()
		if err := decode(key, name); err != nil {
			return err
		}
		if err := decode(entry.Value, value); err != nil {
			return fields.explain(key, entry.Value, err)
		}
		fields.others.SetMapIndex(name, value)
	}
	for _, name := range fields.required {
		if !seen[name] {
			return Wrong(node, fmt.Sprintf("the field %q is missing", name), "")
		}
	}
	return nil
}

// fields are those of a struct by name, and the map that takes other names; or only a map.
type fields struct {
	named    map[string]reflect.Value
	required []string
	others   reflect.Value
}

func fieldsOf(v reflect.Value) fields {
	f := fields{named: map[string]reflect.Value{}}
	if v.Kind() == reflect.Map {
		f.others = v
		return f
	}
	f.add(v)
	return f
}

func (f *fields) add(v reflect.Value) {
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		name := tag.Get("yaml")
		switch {
		case name != ",inline":
			f.named[name] = v.Field(i)
		case v.Field(i).Kind() == reflect.Struct:
			f.add(v.Field(i))
		default:
			f.others = v.Field(i)
		}
		if tag.Get("required") != "" {
			f.required = append(f.required, name)
		}
	}
}

// names are the fields, in order.
func (f *fields) names() (names []string) {
	for name := range f.named {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// hint names the field that was probably meant, or all.
func (f *fields) hint(name string) string {
	known := f.names()
	if near := nearHint(name, known); near != "" || len(known) > 10 {
		return near
	}
	return "the fields here are " + strings.Join(known, ", ")
}

// explain adds to the error of a value that is under any name that the name may be a mistyped field.
func (f *fields) explain(key *ast.StringNode, value ast.Node, err error) error {
	_, isMapping := value.(*ast.MappingNode)
	_, isEntry := value.(*ast.MappingValueNode)
	near := nearHint(key.Value, f.names())
	if wrong, is := errors.AsType[*Error](err); is && !isMapping && !isEntry && near != "" {
		return Wrong(key, fmt.Sprintf("%q has %s", key.Value, strings.TrimPrefix(wrong.Text, "this is ")), near)
	}
	return err
}

// unexpected says that a node should be something else.
func unexpected(node ast.Node, wanted string) error {
	is, hint := "something else", ""
	switch node.(type) {
	case *ast.NullNode:
		is = "nothing"
	case *ast.StringNode, *ast.LiteralNode:
		is = "a text"
	case *ast.BoolNode:
		is = "true or false"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		is = "a number"
	case *ast.SequenceNode:
		is = "a list"
	case *ast.MappingNode, *ast.MappingValueNode:
		is = "names with values"
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		is, hint = "an anchor or an alias", "write the value itself; a text with & or * in front needs quotes"
	}
	switch {
	case hint != "":
	case wanted == "a text" && is != "nothing" && is != "a list" && is != "names with values":
		hint = "put quotes around it"
	case wanted == "a list":
		hint = "put brackets around it, or write each item after a dash"
	}
	return Wrong(node, fmt.Sprintf("this is %s, and has to be %s", is, wanted), hint)
}
