package hookfile

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

type policyKey struct {
	name   string
	about  string
	schema object
	read   func(r *policyReader, n *yaml.Node, what string)
}

type policyReader struct {
	*reader
	config policy.Config
}

var verdicts = []string{string(events.VerdictAsk), string(events.VerdictDeny), string(events.VerdictNone)}

// policyKeys are read in this order. The first ones, such as mode, influence the later checks.
var policyKeys = []policyKey{
	{
		name: "mode", about: "strict (the default) means what a rule says; compat takes it literally, as other systems do",
		schema: enum(string(policy.Strict), string(policy.Compat)),
		read: func(r *policyReader, n *yaml.Node, what string) {
			s, _ := r.word(n, what, []string{string(policy.Strict), string(policy.Compat)})
			r.config.Mode = policy.Mode(s)
		},
	},
	{
		name: "root", about: "the folder that relative paths start from, as an absolute path; by default the one that the call names",
		schema: nonEmpty(),
		read: func(r *policyReader, n *yaml.Node, what string) {
			if s, ok := r.text(n, what); ok {
				r.check(n, what, policy.Config{Root: s, BlockedCommands: []string{}})
				r.config.Root = s
			}
		},
	},
	{
		name: "undetermined", about: "the verdict on a command that cannot be told before it runs; ask by default", schema: enum(verdicts...),
		read: func(r *policyReader, n *yaml.Node, what string) {
			s, _ := r.word(n, what, verdicts)
			r.config.Undetermined = events.Verdict(s)
		},
	},
	{
		name: "shellTools", about: "names of other tools that run shell commands", schema: textList(),
		read: func(r *policyReader, n *yaml.Node, what string) { r.config.ShellTools = r.names(n, what) },
	},
	{
		name: "writeTools", about: "names of other tools that write files", schema: textList(),
		read: func(r *policyReader, n *yaml.Node, what string) { r.config.WriteTools = r.names(n, what) },
	},
	{
		name: "allowedWritePaths", about: "patterns of the files that tools and shell commands may write, and no others", schema: textList(),
		read: func(r *policyReader, n *yaml.Node, what string) {
			r.config.AllowedWritePaths = r.each(n, what, func(c *policy.Config, s string) { c.AllowedWritePaths = []string{s} })
		},
	},
	{
		name: "blockedCommands", about: "commands that may not run; without this key rm -rf, git push --force, git rebase and git reset --hard; an empty list blocks none",
		schema: textList(),
		read: func(r *policyReader, n *yaml.Node, what string) {
			r.config.BlockedCommands = r.each(n, what, func(c *policy.Config, s string) { c.BlockedCommands = []string{s} })
		},
	},
	{
		name: "maxAskUserPerSession", about: "how many questions an agent may ask its user in a session", schema: object{"type": "integer", "minimum": 0},
		read: func(r *policyReader, n *yaml.Node, what string) {
			if v, ok := r.number(n, what, 0, 1_000_000); ok {
				r.config.MaxAskUserPerSession = &v
			}
		},
	},
	onOff("reviewerLockout", "agents that were locked out of an artifact may not write it", func(c *policy.Config) *bool { return &c.ReviewerLockout }),
	onOff("scrubPii", "take personal data out of what tools answer", func(c *policy.Config) *bool { return &c.ScrubPII }),
	onOff("scrubSecrets", "take secrets out of what tools answer", func(c *policy.Config) *bool { return &c.ScrubSecrets }),
	{
		name: "presets", about: "rules that come with Hooktrail", schema: object{"type": "array", "items": enum(policy.Presets()...)},
		read: func(r *policyReader, n *yaml.Node, what string) {
			for _, item := range r.items(n, what) {
				if s, ok := r.word(item, what, policy.Presets()); ok {
					r.config.Presets = append(r.config.Presets, s)
				}
			}
		},
	},
}

func onOff(name, about string, field func(*policy.Config) *bool) policyKey {
	return policyKey{
		name: name, about: about, schema: object{"type": "boolean"},
		read: func(r *policyReader, n *yaml.Node, what string) { *field(&r.config), _ = r.truth(n, what) },
	}
}

func (r *reader) policies(n *yaml.Node) *policy.Set {
	pr := &policyReader{reader: r}
	before := len(r.problems)
	values := map[string]*yaml.Node{}
	for _, e := range r.entries(n, policiesKey) {
		values[e.name] = e.value
		if names := policyNames(); !slices.Contains(names, e.name) {
			r.wrong(e.key, "%s: unknown key %q; %s", policiesKey, clip(e.name), oneOf(e.name, names))
		}
	}
	for _, k := range policyKeys {
		if value, ok := values[k.name]; ok {
			k.read(pr, value, policiesKey+"."+k.name)
		}
	}
	if len(r.problems) > before {
		return nil
	}
	set, err := policy.New(pr.config)
	if err != nil {
		r.wrong(n, "%v", err)
	}
	return set
}

func (r *policyReader) names(n *yaml.Node, what string) []string {
	var list []string
	for i, item := range r.items(n, what) {
		if s, ok := r.text(item, fmt.Sprintf("%s[%d]", what, i)); ok {
			list = append(list, s)
		}
	}
	return list
}

func (r *policyReader) each(n *yaml.Node, what string, set func(c *policy.Config, s string)) []string {
	list := []string{}
	for i, item := range r.items(n, what) {
		what := fmt.Sprintf("%s[%d]", what, i)
		s, ok := r.text(item, what)
		if !ok {
			continue
		}
		c := policy.Config{Mode: r.config.Mode, BlockedCommands: []string{}}
		set(&c, s)
		r.check(item, what, c)
		list = append(list, s)
	}
	return list
}

func (r *policyReader) check(n *yaml.Node, what string, c policy.Config) {
	if _, err := policy.New(c); err != nil {
		_, reason, _ := strings.Cut(err.Error(), ": ") // cut the name of the policy, which the problem already contains
		if _, rest, ok := strings.Cut(reason, "[0]"); ok {
			reason = strings.TrimLeft(rest, ": ")
		}
		r.wrong(n, "%s: %s", what, reason)
	}
}

func policyNames() []string {
	names := make([]string, len(policyKeys))
	for i, k := range policyKeys {
		names[i] = k.name
	}
	return names
}

func textList() object { return object{"type": "array", "items": nonEmpty()} }

func policiesSchema() object {
	properties := object{}
	for _, k := range policyKeys {
		properties[k.name] = described(k.schema, k.about)
	}
	return object{
		"type": "object", "properties": properties, "additionalProperties": false,
		"description": "policies that come with Hooktrail; they run after the hooks, and one that fails denies the call",
	}
}
