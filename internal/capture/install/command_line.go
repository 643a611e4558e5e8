package install

import "strings"

func firstWord(line string) (word, rest string) {
	var b strings.Builder
	var quote byte
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == 0 && (c == ' ' || c == '\t'):
			return b.String(), line[i:]
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		case quote != '\'' && escapes(line[i:]):
			i++
			b.WriteByte(line[i])
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}

// escapes reports whether a text begins with a backslash that quotes the next
// character. Other backslashes belong to Windows paths.
func escapes(s string) bool {
	return len(s) > 1 && s[0] == '\\' && strings.IndexByte(" \\\"'$`", s[1]) >= 0
}

func baseName(path string) string {
	return strings.TrimSuffix(path[strings.LastIndexAny(path, `/\`)+1:], ".exe")
}
