package cli

import "culvert/format"

// parseInvalidUTF8 gives the policy of a value of --invalid-utf8.
func parseInvalidUTF8(name string) (format.InvalidUTF8, error) {
	switch name {
	case "error":
		return format.ErrorOnInvalid, nil
	case "replace":
		return format.ReplaceInvalid, nil
	case "base64":
		return format.Base64Invalid, nil
	}
	return 0, badValue("--invalid-utf8", name, invalidUTF8Policies)
}
