package mask

import "testing"

// TestMentioned finds names of columns in expressions, and not in texts.
func TestMentioned(t *testing.T) {
	for _, test := range []struct {
		expression, name string
		is               bool
	}{
		{"(kind = 'email')", "email", false},
		{"((kind)::text = ANY (ARRAY['email'::text, 'a ''email'' b'::text]))", "email", false},
		{"`kind` in ('email',_utf8mb4'phone')", "email", false},
		{"kind = 'it''s' AND email > ''", "email", true},
		{"lower(email) = 'a'", "email", true},
		{"emails = 1 OR my_email = 2", "email", false},
		{`"the email" > 'x'`, "the email", true},
		{`"apo'strophe" = 1 AND email = 2`, "email", true},
		{`"apo'strophe" = 'email'`, "email", false},
		{`"apo'strophe" = 1`, "apo'strophe", true},
		{"`a``b` = 'x'", "a`b", true},
		{`"a""b" = 'x'`, `a"b`, true},
		{"[my email] = 'x'", "my email", true},
		{"[it's] = 1 AND email = 'x'", "email", true},
		{`x = 'it\'s' AND email = 'y'`, "email", true}, // of MySQL
		{"x = $$it's$$ AND email = 'y'", "email", true},
		{"x = 1 -- it's\nAND email = 'y'", "email", true},
		{"x = 1 # it's\nAND email = 'y'", "email", true},
		{"email = 'not ended", "email", true},
		{"x[1] = 'a' AND email = 'b'", "email", true},
		{"lower(EMAIL)", "Email", true}, // of SQLite
		{"", "email", false},
	} {
		if got := mentioned(test.expression, []string{test.name}) != ""; got != test.is {
			t.Errorf("%s mentions %s: %v", test.expression, test.name, got)
		}
	}
}
