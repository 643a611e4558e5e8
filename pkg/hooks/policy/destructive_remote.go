package policy

import (
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

type remoteRule struct {
	words   string // the first operands of the command
	options string // options of which the command has at least one, or empty
	asks    bool   // the effect may be intended, so that the verdict is to ask
}

func destroysRemotely(cmd shell.Command) finding {
	if isTrial(cmd) {
		return finding{}
	}
	if f := tableFinding(remoteRules, cmd, "removes data beyond the working directory"); f.what != "" {
		return f
	}
	return destroysByVerb(cmd)
}

func tableFinding(table map[string][]remoteRule, cmd shell.Command, effect string) finding {
	for _, r := range table[cmd.Name] {
		if !leads(cmd.Args, strings.Fields(r.words)) {
			continue
		}
		if r.options == "" || slices.ContainsFunc(cmd.Args, func(a shell.Word) bool {
			return isOption(a.Text, r.options)
		}) {
			return finding{what: strings.TrimSpace(cmd.Name+" "+r.words) + " " + effect, unknown: r.asks}
		}
	}
	return finding{}
}

func isOption(text, options string) bool {
	for opt := range strings.FieldsSeq(options) {
		if begin, ok := strings.CutSuffix(opt, "*"); text == opt || ok && strings.HasPrefix(text, begin) {
			return true
		}
	}
	return false
}

func isTrial(cmd shell.Command) bool {
	return slices.ContainsFunc(cmd.Args, func(a shell.Word) bool {
		return a.Text == "--dryrun" || a.Text == "--dry-run" || strings.HasPrefix(a.Text, "--dry-run=") && a.Text != "--dry-run=none"
	})
}

func leads(args []shell.Word, words []string) bool {
	option := false
	for _, a := range args {
		switch {
		case len(words) == 0:
			return true
		case strings.EqualFold(a.Text, words[0]):
			words, option = words[1:], false
		case len(a.Text) > 1 && a.Text[0] == '-':
			option = !strings.Contains(a.Text, "=")
		case option:
			option = false
		default:
			return false
		}
	}
	return len(words) == 0
}
