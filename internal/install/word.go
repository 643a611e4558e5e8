package install

import "strings"

// firstWord returns the first word of a command line as a shell reads it, without
// its quotes, and what follows it.
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
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && quote != '\'' && i+1 < len(line) && strings.IndexByte(` \"'$`+"`", line[i+1]) >= 0:
			i++
			b.WriteByte(line[i])
		default: // a backslash before anything else is one of a path on Windows
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}

// baseName returns the name of a program without its folder and ending.
func baseName(path string) string {
	return strings.TrimSuffix(path[strings.LastIndexAny(path, `/\`)+1:], ".exe")
}
