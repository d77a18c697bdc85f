package mask_test

import (
	"testing"

	"culvert/mask"
	"culvert/source"
)

func TestSuspect(t *testing.T) {
	text := func(values ...string) (all [][]byte) {
		for _, v := range values {
			all = append(all, []byte(v))
		}
		return all
	}
	for _, test := range []struct {
		table, column, typ, logical string
		sample                      [][]byte
		want                        string // the rule, or "" for none
	}{
		{"t", "e_mail", "text", "string", nil, "email"},
		{"t", "billingEmail", "text", "string", nil, "email"},
		{"t", "email", "varchar(10)", "string(10)", nil, "digits"},
		{"t", "emailed", "bool", "bool", nil, ""},
		{"t", "first_name", "text", "string", nil, "name first"},
		{"t", "Nachname", "text", "string", nil, "name last"},
		{"products", "name", "text", "string", nil, ""},
		{"public.users", "name", "text", "string", nil, "name"},
		{"t", "geburtsdatum", "date", "date", nil, "date year"},
		{"t", "telefono", "bigint", "int64", nil, "digits"},
		{"t", "password_hash", "text", "string", nil, "drop"},
		{"t", "plz", "char(5)", "char(5)", nil, "digits"},
		{"t", "last_seen", "inet", "unknown", nil, "null"},
		{"t", "a", "text", "string", text("a@b.de", "b@c.de", "c@d.de", "", "e@f.de", "f@g.de"), "email"},
		{"t", "a", "text", "string", text("a@b.de", "b@c.de"), ""},
		{"t", "a", "text", "string", text("4111111111111111", "5500000000000004", "340000000000009",
			"6011000000000004", "4222222222222"), "digits"},
		{"t", "a", "text", "string", text("DE89370400440532013000", "NO9386011117947", "GB29NWBK60161331926819",
			"FR1420041010050500013M02606", "x"), "digits"},
		{
			"t", "a", "text", "string", text("+49 170 1234567", "0170/1234567", "(030) 12345678",
				"+1 212 555 0100", "x"),
			"digits",
		},
		{"t", "amount", "text", "string", text("12", "13", "14", "15", "16"), ""},
	} {
		c := column(t, test.typ, test.logical)
		c.Name = test.column
		got, is := mask.Suspect(test.table, c, test.sample)
		if is != (test.want != "") || is && got.Rule.String() != test.want || is && got.Reason == "" {
			t.Errorf("%s.%s: got the rule %q, since %s; want %q", test.table, test.column, got.Rule, got.Reason,
				test.want)
		}
		var none source.Column
		if _, is := mask.Suspect("", none, nil); is {
			t.Error("a column without a name looks like personal data")
		}
	}
}
