package agents

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// maxJudged bounds commands and outputs in which complaints are looked for.
const (
	maxJudgedCommand = 16 << 10
	maxJudgedLines   = 2000
)

// systemError is what the operating system says of an argument, as programs
// repeat it at the end of their complaint.
var systemError = pattern(`: (?:\[Errno \d+\] )?(?:No such file or directory|Permission denied|Is a directory|Not a directory|` +
	`File exists|Directory not empty|Operation not permitted|No space left on device|Read-only file system|Device or resource busy|` +
	`Invalid argument|Too many levels of symbolic links|File name too long|Text file busy|No such device or address|Input/output error)$`)

// Exit statuses that shells give commands which they cannot run.
const (
	exitNotFound   = 127
	exitGitRefuses = 128
)

// complaintOf returns the line of output in which a program that decides the
// exit status of a shell command complains about one of its own arguments, and
// the status where the line tells that too. Output without such a line is no
// evidence that the command failed, whatever words it has: "error" in a log that
// is printed is not an error.
func complaintOf(command, output string) (line string, exit *int) {
	programs := decidingPrograms(command)
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

// program is a program that a command runs, with the arguments that are known.
type program struct {
	name string // as it is written
	args []string
}

// shellPrefix stands before what a shell says itself.
var shellPrefix = pattern(`^(?:\(eval\)|(?:\S*/)?(?:ba|da|k|z)?sh): ?(?:line )?(?:\d+: ?)?`)

// complains tells whether line is a complaint of p, and the exit status if the
// line settles it.
func (p program) complains(line string) (*int, bool) {
	said := shellPrefix().ReplaceAllString(line, "")
	if said != line && slices.Contains([]string{p.name + ": command not found", p.name + ": not found", "command not found: " + p.name}, said) {
		exit := exitNotFound
		return &exit, true
	}
	name := path.Base(p.name)
	if text, ok := strings.CutPrefix(line, "fatal: "); ok && name == "git" && text != "" {
		exit := exitGitRefuses
		return &exit, true
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

// mentions tells whether arg stands in text, and not only as a part of another
// word. A file may be named with the folder that it is in, or a part of it.
func mentions(text, arg string) bool {
	for rest, at := text, 0; ; {
		i := strings.Index(rest, arg)
		if i < 0 {
			return false
		}
		at += i
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(arg):])
		if !partOfWord(before) && !partOfWord(after) {
			return true
		}
		at++
		rest = text[at:]
	}
}

func partOfWord(r rune) bool {
	return r == '_' || r == '-' || r == '.' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// decidingPrograms returns the programs whose failure is that of the command:
// the last one of a list and of a pipe, both of "a && b", b of "a || b".
func decidingPrograms(command string) []program {
	if len(command) > maxJudgedCommand {
		return nil
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return nil
	}
	return lastOf(file.Stmts, 0)
}

// maxShells is how deep one shell is followed into the next.
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

// wrappers run another program and end as it does.
var wrappers = []string{"sudo", "env", "command", "exec", "nice", "nohup", "time"}

// called returns the program that a simple command runs.
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
			return inner(code, depth)
		}
	}
	isNone := func(w string) bool { return w == "" || strings.HasPrefix(w, "-") }
	return []program{{name: words[0], args: slices.DeleteFunc(words[1:], isNone)}}
}

// unwrapped returns the words of the program that wrappers run.
func unwrapped(words []string) []string {
	for len(words) > 0 && slices.Contains(wrappers, path.Base(words[0])) {
		words = words[1:]
		for len(words) > 0 && (strings.HasPrefix(words[0], "-") || strings.Contains(words[0], "=")) {
			words = words[1:]
		}
	}
	return words
}

// codeOf returns the command among the arguments of a shell.
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

// inner returns the deciding programs of a command that a shell is given.
func inner(command string, depth int) []program {
	if depth >= maxShells {
		return nil
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return nil
	}
	return lastOf(file.Stmts, depth+1)
}

// literal returns the text of a word, empty if only the shell knows it.
func literal(w *syntax.Word) string {
	var b strings.Builder
	parts := w.Parts
	for len(parts) > 0 {
		part := parts[0]
		parts = parts[1:]
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(unescaped(part.Value))
		case *syntax.SglQuoted:
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			parts = append(slices.Clone(part.Parts), parts...)
		default:
			return ""
		}
	}
	return b.String()
}

// unescaped returns s without the backslashes that quote a character.
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
