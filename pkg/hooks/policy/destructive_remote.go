package policy

import (
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

type remoteRule struct {
	words   string // the first operands of the command
	options string // options of which the command has at least one, or empty
}

var remoteRules = map[string][]remoteRule{
	"terraform": {{words: "destroy"}, {words: "apply", options: "-destroy --destroy"}},
	"tofu":      {{words: "destroy"}, {words: "apply", options: "-destroy --destroy"}},
	"pulumi":    {{words: "destroy"}},
	"kubectl": {
		{words: "delete namespace"},
		{words: "delete ns"},
		{words: "delete pv"},
		{words: "delete pvc"},
		{words: "delete", options: "--all --all-namespaces -A"},
	},
	"docker":     {{words: "volume rm"}, {words: "volume prune"}, {words: "system prune", options: "--volumes"}},
	"podman":     {{words: "volume rm"}, {words: "volume prune"}, {words: "system prune", options: "--volumes"}},
	"aws":        {{words: "s3 rb"}, {words: "s3 rm", options: "--recursive"}, {words: "rds delete-db-instance"}, {words: "dynamodb delete-table"}},
	"gcloud":     {{words: "projects delete"}, {words: "sql instances delete"}},
	"az":         {{words: "group delete"}},
	"gh":         {{words: "repo delete"}},
	"redis-cli":  {{words: "flushall"}, {words: "flushdb"}},
	"dropdb":     {{}},
	"mysqladmin": {{words: "drop"}},
}

func destroysRemotely(cmd shell.Command) finding {
	for _, r := range remoteRules[cmd.Name] {
		if !leads(cmd.Args, strings.Fields(r.words)) {
			continue
		}
		if r.options == "" || slices.ContainsFunc(cmd.Args, func(a shell.Word) bool {
			return slices.Contains(strings.Fields(r.options), a.Text)
		}) {
			return finding{what: strings.TrimSpace(cmd.Name+" "+r.words) + " removes data beyond the working directory"}
		}
	}
	return finding{}
}

// leads reports whether args begin with words, apart from options and their possible values.
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
