package jobfile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"culvert/cmd/culvert/internal/jobfile"
)

// TestMasks has the rules of the file before those of the command line, and in their order.
func TestMasks(t *testing.T) {
	f, err := jobfile.Parse("f", []byte(`
mask:
  "*.email": email
  customers.name: name
  orders.gone: null
  "*.kept": none
  payload: "json $.a: email, $.b: text"
key: { file: mask.key }
strict: true
`))
	if err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	rules := flags.StringArray("mask", nil, "")
	key, strict := flags.String("mask-key", "", ""), flags.Bool("strict", false, "")
	if err := flags.Parse([]string{"--mask", "orders.note=text"}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Apply("f", flags); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"*.email=email", "customers.name=name", "orders.gone=null", "*.kept=none",
		"payload=json $.a: email, $.b: text", "orders.note=text",
	}
	if !slices.Equal(*rules, want) || *key != "mask.key" || !*strict {
		t.Errorf("got %q, %q and %v", *rules, *key, *strict)
	}
	for text, want := range map[string]string{
		"mask: {\"*.email\": emial}":  "there is no rule",
		"mask: {\"a.b.c.d\": email}":  "has 4 parts",
		"mask: [email]":               "names with values",
		"key: mask.key":               "names with values",
		"key: {fiel: x}":              "there is no field",
		"mask: {a: \"keep first x\"}": "whole number",
	} {
		if _, err := jobfile.Parse("f", []byte(text)); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "f:1:") {
			t.Errorf("%s: the error is %v, want %q", text, err, want)
		}
	}
}
