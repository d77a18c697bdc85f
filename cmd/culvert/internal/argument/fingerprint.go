package argument

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"culvert/cmd/culvert/internal/command"
	"culvert/internal/fingerprint"
	"culvert/internal/keyfile"
)

// IsFingerprint reports whether a text is a fingerprint.
func IsFingerprint(text string) bool {
	_, err := fingerprint.Parse(text)
	return err == nil
}

// Fingerprints returns what a flag has been given, fingerprints and files of them, sorted and in lower case.
func Fingerprints(reader *keyfile.Reader, flag string, values []string) (fingerprints []string, err error) {
	for _, value := range values {
		if parsed, err := fingerprint.Parse(value); err == nil {
			fingerprints = append(fingerprints, parsed.String())
			continue
		}
		more, err := reader.Fingerprints(value)
		switch {
		case errors.Is(err, os.ErrNotExist) && strings.HasPrefix(value, "age1"):
			return nil, command.WithHint(command.Usagef("%s: %q is a recipient, to which files are encrypted",
				flag, value), "give the fingerprint, which culvert keygen prints below it")
		case errors.Is(err, os.ErrNotExist):
			return nil, command.WithHint(command.Usagef("%s: %q is neither a fingerprint nor a file", flag, value),
				"a fingerprint has 52 characters from a to z and 2 to 7; culvert keygen prints one's own")
		case command.Is[*fs.PathError](err):
			return nil, command.About(flag, err)
		case err != nil:
			return nil, command.WithHint(command.About(flag, err),
				"write a fingerprint at the beginning of each line; culvert keygen prints that of its machine")
		}
		fingerprints = append(fingerprints, more...)
	}
	slices.Sort(fingerprints)
	return slices.Compact(fingerprints), nil
}
