package policy

import (
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

type arguments struct {
	short    string   // letters of all short options, joined
	long     []string // long options as written, such as "--force" or "--force=x"
	operands []shell.Word
	dashes   int // number of operands before "--", or -1 if there is no "--"
}

type optionTable struct {
	short string
	long  []string
}

func (t optionTable) sort(args []shell.Word) arguments {
	out := arguments{dashes: -1}
	for i := 0; i < len(args); i++ {
		text := args[i].Text
		switch {
		case text == "--" && out.dashes < 0:
			out.dashes = len(out.operands)
		case out.dashes >= 0 || len(text) < 2 || text[0] != '-':
			out.operands = append(out.operands, args[i])
		case strings.HasPrefix(text, "--"):
			out.long = append(out.long, text)
			if t.takes(text) {
				i++
			}
		default:
			letters, takes := t.cluster(text[1:])
			if out.short += letters; takes {
				i++
			}
		}
	}
	return out
}

func (t optionTable) takes(long string) bool {
	return slices.Contains(t.long, strings.TrimPrefix(long, "--"))
}

func (t optionTable) cluster(letters string) (string, bool) {
	if i := strings.IndexAny(letters, t.short); i >= 0 {
		return letters[:i+1], i == len(letters)-1
	}
	return letters, false
}

func (a arguments) has(letters string) bool { return strings.ContainsAny(a.short, letters) }

func (a arguments) hasLong(names ...string) bool {
	for _, opt := range a.long {
		key, _, _ := strings.Cut(opt, "=")
		for _, name := range names {
			if longMatches(name, strings.TrimPrefix(key, "--")) {
				return true
			}
		}
	}
	return false
}

func (a arguments) exact(name string) bool {
	return slices.ContainsFunc(a.long, func(opt string) bool {
		key, _, _ := strings.Cut(opt, "=")
		return key == "--"+name
	})
}

func longMatches(name, given string) bool {
	return given == name || len(given) >= 3 && strings.HasPrefix(name, given)
}
