package masking

import (
	"strings"
	"testing"

	"culvert/mask"
	"culvert/source"
)

// TestUnknownDefinition refuses a table whose schema and name are not known: a pattern that names them would not match.
func TestUnknownDefinition(t *testing.T) {
	f := &Flags{rules: []string{"*.email=null"}}
	columns := []source.Column{{Name: "email"}}
	_, err := f.Policy(t.Context(), []mask.Table{{Name: "public.customers", Columns: columns}})
	if err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("the error is %v", err)
	}
	if _, err := f.Policy(t.Context(), []mask.Table{{Columns: columns}}); err != nil {
		t.Errorf("a query: %v", err)
	}
}
