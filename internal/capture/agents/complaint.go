package agents

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
)

const (
	maxJudgedCommand = 16 << 10
	maxJudgedLines   = 2000
)

var systemError = ingest.Pattern(`: (?:\[Errno \d+\] )?(?:No such file or directory|Permission denied|Is a directory|Not a directory|` +
	`File exists|Directory not empty|Operation not permitted|No space left on device|Read-only file system|Device or resource busy|` +
	`Invalid argument|Too many levels of symbolic links|File name too long|Text file busy|No such device or address|Input/output error)$`)

const (
	exitNotFound   = 127
	exitGitRefuses = 128
)

func complaintOf(command, output string) (line string, exit *int) {
	programs := decidingPrograms(command, 0)
	if len(programs) == 0 {
		return "", nil
	}
	n := 0
	for line := range strings.Lines(output) {
		if n++; n > maxJudgedLines {
			break
		}
		line = strings.TrimRight(line, "\r\n")
		for _, p := range programs {
			if exit, ok := p.complains(line); ok {
				return line, exit
			}
		}
	}
	return "", nil
}

type program struct {
	name string
	args []string
}

var shellPrefix = ingest.Pattern(`^(?:\(eval\)|(?:\S*/)?(?:ba|da|k|z)?sh): ?(?:line )?(?:\d+: ?)?`)

func (p program) complains(line string) (*int, bool) {
	said := shellPrefix().ReplaceAllString(line, "")
	if said != line && slices.Contains([]string{p.name + ": command not found", p.name + ": not found", "command not found: " + p.name}, said) {
		return new(exitNotFound), true
	}
	name := path.Base(p.name)
	if text, ok := strings.CutPrefix(line, "fatal: "); ok && name == "git" && text != "" {
		return new(exitGitRefuses), true
	}
	about, ok := strings.CutPrefix(said, name+": ")
	if !ok {
		about, ok = strings.CutPrefix(said, p.name+": ")
	}
	if m := systemError().FindStringIndex(about); ok && m != nil {
		return nil, slices.ContainsFunc(p.args, func(arg string) bool { return mentions(about[:m[0]], arg) })
	}
	return nil, false
}

func mentions(text, arg string) bool {
	for at := 0; ; at++ {
		i := strings.Index(text[at:], arg)
		if i < 0 {
			return false
		}
		at += i
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(arg):])
		if !partOfWord(before) && !partOfWord(after) {
			return true
		}
	}
}

func partOfWord(r rune) bool {
	return r == '_' || r == '-' || r == '.' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

func decidingPrograms(command string, depth int) []program {
	if depth > maxShells || len(command) > maxJudgedCommand {
		return nil
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return nil
	}
	return lastOf(file.Stmts, depth)
}

const maxShells = 3

func lastOf(list []*syntax.Stmt, depth int) []program {
	if len(list) == 0 {
		return nil
	}
	return deciding(list[len(list)-1], depth)
}

func deciding(s *syntax.Stmt, depth int) []program {
	if s.Negated || s.Background || s.Coprocess {
		return nil
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		return called(c, depth)
	case *syntax.BinaryCmd:
		last := deciding(c.Y, depth)
		if c.Op == syntax.AndStmt {
			last = append(deciding(c.X, depth), last...)
		}
		return last
	case *syntax.Subshell:
		return lastOf(c.Stmts, depth)
	case *syntax.Block:
		return lastOf(c.Stmts, depth)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			return deciding(c.Stmt, depth)
		}
	}
	return nil
}

var wrappers = []string{"sudo", "env", "command", "exec", "nice", "nohup", "time"}

func called(c *syntax.CallExpr, depth int) []program {
	words := make([]string, len(c.Args))
	for i, w := range c.Args {
		words[i] = literal(w)
	}
	words = unwrapped(words)
	if len(words) == 0 || words[0] == "" {
		return nil
	}
	if isShell(words[0]) {
		if code := codeOf(words[1:]); code != "" {
			return decidingPrograms(code, depth+1)
		}
	}
	ignored := func(w string) bool { return w == "" || strings.HasPrefix(w, "-") }
	return []program{{name: words[0], args: slices.DeleteFunc(words[1:], ignored)}}
}

func unwrapped(words []string) []string {
	for len(words) > 0 && slices.Contains(wrappers, path.Base(words[0])) {
		words = words[1:]
		for len(words) > 0 && (strings.HasPrefix(words[0], "-") || strings.Contains(words[0], "=")) {
			words = words[1:]
		}
	}
	return words
}

func codeOf(args []string) string {
	for i, w := range args {
		if strings.HasPrefix(w, "-") && strings.HasSuffix(w, "c") && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}

func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh"}, path.Base(name))
}

func literal(w *syntax.Word) string {
	var b strings.Builder
	queue := w.Parts
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		switch part := next.(type) {
		case *syntax.Lit:
			b.WriteString(unescaped(part.Value))
		case *syntax.SglQuoted:
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			queue = append(slices.Clone(part.Parts), queue...)
		default:
			return ""
		}
	}
	return b.String()
}

func unescaped(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
