package bucket

import "testing"

// TestAnswerText says each thing that a store answers once.
func TestAnswerText(t *testing.T) {
	for want, a := range map[string]answer{
		"the store answers 403 Forbidden":                     {status: 403, code: "Forbidden", text: "Forbidden"},
		"the store answers 404 NotFound":                      {status: 404, code: "NotFound", text: "Not Found"},
		"the store answers 403 AccessDenied no such key":      {status: 403, code: "AccessDenied", text: "no such key"},
		"the store answers 403":                               {status: 403},
		"the store answers SlowDown later (see https://a?...": {code: "SlowDown", text: "later (see https://a?b=c)"},
	} {
		if got := a.String(); got != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
}
