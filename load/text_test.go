package load

import (
	"strings"
	"testing"

	"culvert/format"
	"culvert/internal/testkit"
)

func TestTextUsesMemoryAgain(t *testing.T) {
	testkit.AllocatedBytes(t, 64<<10, func() {
		text, err := openText(strings.NewReader("id,name\n7,ale\n"), "table.csv", format.CSV{})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(text.first.text); got != "7,ale\n" {
			t.Errorf("the text after the header is %q", got)
		}
		text.first.free()
	})
}
