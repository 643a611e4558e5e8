package beads

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxReason = 1000
	// maxDescription is the maximum length of a description in bytes. The database column in Beads
	// has 65,535 bytes.
	maxDescription = 60_000
)

func (i Issue) fit() Issue {
	title, rest := cut(line(i.Title), MaxTitle)
	i.Title = title
	if rest != "" {
		i.Description = strings.TrimSuffix("…"+rest+"\n\n"+i.Description, "\n\n")
	}
	i.Description = passage(i.Description)
	i.CloseReason = reason(i.CloseReason)
	return i
}

func line(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.TrimSpace(s)
}

func reason(s string) string {
	s, _ = cut(strings.Join(strings.Fields(line(s)), " "), maxReason)
	return s
}

func passage(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if short, rest := cut(s, maxDescription); rest != "" {
		return short + "\n…"
	}
	return s
}

func cut(s string, n int) (first, rest string) {
	if len(s) <= n {
		return s, ""
	}
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n], s[n:]
}

func checkLabel(label string) error {
	bad := strings.ContainsFunc(label, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == ',' || r == '"' || r == utf8.RuneError
	})
	if bad || label == "" || len(label) > 100 || strings.HasPrefix(label, "-") || strings.HasPrefix(label, "provides:") {
		return fmt.Errorf("invalid label of %d bytes: %w", len(label), ErrInvalid)
	}
	return nil
}
