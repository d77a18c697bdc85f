package jobfile

import (
	"encoding/json"
	"reflect"
	"strings"
)

// Schemer is implemented by types of the file that may be written in several ways, or whose values are checked.
type Schemer interface {
	// JSONSchema returns the schema of the type, without its description.
	JSONSchema() map[string]any
}

// Schema returns the JSON schema of job files, which follows from the types.
func Schema() []byte {
	schema := schemaOf(reflect.TypeFor[File]())
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["title"] = "Job file of culvert"
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		panic(err) // it has only texts, lists and maps
	}
	return append(text, '\n')
}

func schemaOf(t reflect.Type) map[string]any {
	if s, is := reflect.Zero(t).Interface().(Schemer); is {
		return s.JSONSchema()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Struct:
		return schemaOfStruct(t)
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int:
		return map[string]any{"type": "integer", "minimum": 0}
	}
	return map[string]any{"type": "string"}
}

func schemaOfStruct(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	var add func(t reflect.Type)
	add = func(t reflect.Type) {
		for i := range t.NumField() {
			field := t.Field(i)
			name, one := field.Tag.Get("yaml"), map[string]any(nil)
			if name == ",inline" && field.Type.Kind() == reflect.Struct {
				add(field.Type)
				continue
			}
			if name == ",inline" {
				one = schemaOf(field.Type.Elem())
				schema["additionalProperties"] = one
			} else {
				one = schemaOf(field.Type)
				properties[name] = one
			}
			one["description"] = field.Tag.Get("doc")
			if values := field.Tag.Get("enum"); values != "" {
				one["enum"] = strings.Fields(values)
			}
			if field.Tag.Get("required") != "" {
				required = append(required, name)
			}
		}
	}
	add(t)
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}
