package mask

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	"culvert/source"
)

// Suspicion is the rule that a column probably needs, and why.
type Suspicion struct {
	Rule   Rule
	Reason string // it completes "the column looks like personal data: "
}

// suspicious are the words of names of columns, in English, German, French, Spanish, Italian, Portuguese, Dutch and
// Polish, and the rule for each. The first that matches counts.
var suspicious = []struct{ words, rule string }{
	{"password passwd passwort kennwort pwd contrasena senha motdepasse haslo secret token apikey", "drop"},
	{"email mail emailaddress correo courriel", "email"},
	{"phone telephone telefon telefono telefone mobile handy cellphone fax msisdn", "digits"},
	{"iban creditcard cardnumber ccnumber kreditkarte kontonummer accountnumber pan", "digits"},
	{"ssn taxid steuernummer steuerid passport passportnumber ausweis nationalid nif dni cpf pesel bsn nino", "digits"},
	{"firstname givenname vorname prenom nombre nome imie voornaam", "name first"},
	{"lastname surname familyname nachname apellido cognome sobrenome nazwisko achternaam", "name last"},
	{"fullname realname displayname holder cardholder contactname", "name"},
	{"birth birthday birthdate born dob geburtstag geburtsdatum naissance nacimiento nascita nascimento", "date year"},
	{"street address strasse straße adresse anschrift direccion calle rue indirizzo endereco adres ulica", "address"},
	{"city town ort stadt ville ciudad citta cidade miasto", "address city"},
	{"zip zipcode postcode postalcode plz cap", "digits"},
	{"ip ipaddress remoteaddr useragent", "hash"},
}

// people are words of names of tables whose column name is the name of a person.
const people = "user users customer customers client clients person persons people contact contacts employee " +
	"employees member members patient patients account accounts kunde kunden benutzer mitarbeiter"

// Suspect returns what a column of a table probably needs if it looks like personal data: by the words of its name, by
// its type, or if half of a sample of its values or more are addresses of email, numbers of cards or accounts, or
// phones. Few values are no sample.
func Suspect(table string, c source.Column, sample [][]byte) (Suspicion, bool) {
	if rule, word := byName(table, c.Name); rule != "" {
		return Suspicion{fitting(rule, c), "its name has the word " + word}, true
	}
	if strings.HasPrefix(c.Type, "inet") || strings.HasPrefix(c.Type, "macaddr") {
		return Suspicion{fitting("null", c), "its type is " + c.Type}, true
	}
	for _, kind := range []struct {
		rule, reason string
		is           func([]byte) bool
	}{
		{"email", "its values are addresses of email", isEmail},
		{"digits", "its values are numbers of payment cards", func(text []byte) bool {
			digits := cardDigits(nil, text)
			return len(digits) > 0 && isLuhn(digits)
		}},
		{"digits", "its values are IBANs", func(text []byte) bool { return len(parseIBAN(nil, text)) > 0 }},
		{"digits", "its values are phone numbers", isPhone},
	} {
		count := 0
		for _, text := range sample {
			if kind.is(text) {
				count++
			}
		}
		if len(sample) >= leastSample && 2*count >= len(sample) {
			return Suspicion{fitting(kind.rule, c), kind.reason}, true
		}
	}
	return Suspicion{}, false
}

const leastSample = 5

// byName returns the rule for a name, and the word of it that needs one.
func byName(table, name string) (rule, word string) {
	words := wordsOf(name)
	for _, one := range suspicious {
		for known := range strings.FieldsSeq(one.words) {
			// Also words that are written apart: first_name.
			for i := range words {
				if words[i] == known || i > 0 && words[i-1]+words[i] == known {
					return one.rule, known
				}
			}
		}
	}
	if len(words) != 1 || words[0] != "name" {
		return "", ""
	}
	for _, word := range wordsOf(table) {
		if slices.Contains(strings.Fields(people), word) {
			return "name", "name"
		}
	}
	return "", ""
}

// wordsOf cuts a name into words in lower case: at what is no letter, and before a capital that follows a small letter.
func wordsOf(name string) []string {
	var cut strings.Builder
	before := ' '
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r):
			r = ' '
		case unicode.IsUpper(r) && unicode.IsLower(before):
			cut.WriteByte(' ')
		}
		before = r
		cut.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(cut.String())
}

// fitting returns a rule, or one that the type of a column allows.
func fitting(text string, c source.Column) Rule {
	for _, one := range []string{text, "digits", "text", "hash", "date year", "number round 100"} {
		if r, err := ParseRule(one); err == nil && r.fits(c) == nil {
			return r
		}
	}
	return Rule{name: "null"}
}

func isEmail(text []byte) bool {
	local, domain, found := bytes.Cut(text, []byte("@"))
	dot := bytes.LastIndexByte(domain, '.')
	return found && len(local) > 0 && dot > 0 && dot < len(domain)-2 && bytes.IndexByte(domain, '@') < 0 &&
		bytes.IndexByte(text, ' ') < 0
}

// isPhone reports whether a text is a number with a country or area code.
func isPhone(text []byte) bool {
	digits := 0
	for i, b := range text {
		switch {
		case isDigit(b):
			digits++
		case b == '+' && i == 0, bytes.IndexByte([]byte(" -/()."), b) >= 0:
		default:
			return false
		}
	}
	return 8 <= digits && digits <= 15 && len(text) > 0 && (text[0] == '+' || text[0] == '0' || text[0] == '(')
}
