package hookfile

import (
	"net/url"
	"regexp"
	"slices"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/wire"
)

const (
	typeKey  = "type"
	matchKey = "match"
	whenKey  = "when"
	asyncKey = "async"
	lastKey  = "last"
)

const actionAsk = "ask"

const (
	openAIName    = "openai"
	anthropicName = "anthropic"
)

type key struct {
	name     string
	types    []Type // hook types that accept this key, nil for all types
	required []Type // hook types that require this key
	about    string
	schema   object
	read     func(r *hookReader, n *yaml.Node, what string)
}

func (k key) belongsTo(t Type) bool { return t == "" || k.types == nil || slices.Contains(k.types, t) }

func typeNames() []string {
	return []string{string(CommandType), string(MatcherType), string(LLMType), string(HTTPType), string(NATSType)}
}

var (
	failureWords     = []string{"warn", "block", "ignore"}
	fileFailureWords = []string{"warn", "block"}
)

var failureModes = map[string]hooks.FailureMode{"warn": hooks.Warn, "block": hooks.Block, "ignore": hooks.Ignore}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

var keys = slices.Concat(commonKeys, typeKeys)

var commonKeys = []key{
	{
		name: typeKey, about: "what runs the hook", schema: enum(typeNames()...), // hook reads this key before all others
	},
	{
		name: "name", about: "how the hook is called in reports", schema: nonEmpty(),
		read: func(r *hookReader, n *yaml.Node, what string) {
			if s, ok := r.text(n, what); ok {
				r.hook.Name = clip(s)
			}
		},
	},
	{name: matchKey, about: "the calls that the hook is for; all of it has to match", schema: matchSchema(), read: (*hookReader).readMatch},
	{
		name: whenKey, about: "an expression that has to be true, such as: args.count > 3; or success or failure, for what has ended",
		schema: nonEmpty(), read: (*hookReader).readWhen,
	},
	{
		name: "priority", about: "hooks with a lower one run first; 0 by default", schema: object{"type": "integer"},
		read: func(r *hookReader, n *yaml.Node, what string) {
			if v, ok := r.number(n, what, -1_000_000, 1_000_000); ok {
				r.hook.Priority = v
			}
		},
	},
	{
		name: lastKey, about: "true runs the hook after all others, so that it judges the final value and cannot change it; the default of matcher and llm hooks",
		schema: object{"type": "boolean"},
		read:   func(r *hookReader, n *yaml.Node, what string) { r.hook.Last, _ = r.truth(n, what) },
	},
	{
		name: "timeout_ms", about: "milliseconds until the hook has failed; 5000 by default",
		schema: object{"type": "integer", "minimum": 1}, read: (*hookReader).readTimeout,
	},
	{
		name: failureKey, about: "what happens when the hook fails: warn goes on, block denies, ignore goes on without a word",
		schema: enum(failureWords...),
		read: func(r *hookReader, n *yaml.Node, what string) {
			if s, ok := r.word(n, what, failureWords); ok {
				r.hook.OnFailure = failureModes[s]
			}
		},
	},
	{
		name: asyncKey, about: "do not wait for the hook; only where nothing is decided", schema: object{"type": "boolean"},
		read: func(r *hookReader, n *yaml.Node, what string) { r.hook.Async, _ = r.truth(n, what) },
	},
	{
		name: "enabled", about: "false leaves the hook out", schema: object{"type": "boolean"},
		read: func(r *hookReader, n *yaml.Node, what string) {
			v, ok := r.truth(n, what)
			r.hook.Disabled = ok && !v
		},
	},
}

var typeKeys = []key{
	{
		name: "command", types: []Type{CommandType}, required: []Type{CommandType},
		about: "a program and its arguments as a list, or a line for sh -c", schema: commandSchema(), read: (*hookReader).readCommand,
	},
	{
		name: "action", types: []Type{MatcherType}, required: []Type{MatcherType}, about: "what is decided where the rule matches",
		schema: enum(wire.ActionBlock, actionAsk, wire.ActionAllow),
		read: func(r *hookReader, n *yaml.Node, what string) {
			r.hook.action, _ = r.word(n, what, []string{wire.ActionBlock, actionAsk, wire.ActionAllow})
		},
	},
	{
		name: "message", types: []Type{MatcherType}, about: "the reason that the agent is told", schema: nonEmpty(),
		read: func(r *hookReader, n *yaml.Node, what string) { r.hook.message, _ = r.text(n, what) },
	},
	{
		name: "model", types: []Type{LLMType}, required: []Type{LLMType}, about: "the model to ask", schema: nonEmpty(),
		read: func(r *hookReader, n *yaml.Node, what string) { r.hook.model, _ = r.text(n, what) },
	},
	{
		name: "prompt", types: []Type{LLMType}, required: []Type{LLMType},
		about:  "what the model is asked, with {{tool}}, {{args}} and others filled in; it has to answer {\"safe\": true or false, \"reason\": …}",
		schema: nonEmpty(), read: (*hookReader).readPrompt,
	},
	{
		name: "max_tokens", types: []Type{LLMType}, about: "how long the answer may be; 100 by default",
		schema: object{"type": "integer", "minimum": 1, "maximum": maxMaxTokens},
		read: func(r *hookReader, n *yaml.Node, what string) {
			r.hook.maxTokens, _ = r.number(n, what, 1, maxMaxTokens)
		},
	},
	{
		name: "cache", types: []Type{LLMType}, about: "ask once what is the same; true by default", schema: object{"type": "boolean"},
		read: func(r *hookReader, n *yaml.Node, what string) {
			v, ok := r.truth(n, what)
			r.hook.noCache = ok && !v
		},
	},
	{
		name: "provider", types: []Type{LLMType}, about: "whose API the model has; anthropic by default for claude models, else openai",
		schema: enum(openAIName, anthropicName),
		read: func(r *hookReader, n *yaml.Node, what string) {
			r.hook.provider, _ = r.word(n, what, []string{openAIName, anthropicName})
		},
	},
	{
		name: "base_url", types: []Type{LLMType}, about: "where the API is, if not at the provider's own place", schema: urlSchema(), read: (*hookReader).readURL,
	},
	{
		name: "url", types: []Type{HTTPType}, required: []Type{HTTPType}, about: "where the document is posted to", schema: urlSchema(), read: (*hookReader).readURL,
	},
	{
		name: "key_env", types: []Type{LLMType, HTTPType}, about: "the environment variable that holds the key", schema: object{"type": "string", "pattern": envName.String()},
		read: func(r *hookReader, n *yaml.Node, what string) {
			if s, ok := r.text(n, what); ok && !envName.MatchString(s) {
				r.wrong(n, "%s: want the name of an environment variable; a key itself does not belong in this file", what)
			} else {
				r.hook.keyEnv = s
			}
		},
	},
	{
		name: "subject", types: []Type{NATSType}, about: "where the service listens; Hooktrail's own decision service by default", schema: nonEmpty(),
		read: func(r *hookReader, n *yaml.Node, what string) {
			if s, ok := r.text(n, what); ok {
				if err := checkSubject(s); err != nil {
					r.wrong(n, "%s: %v", what, err)
				}
				r.hook.subject = s
			}
		},
	},
}

const maxMaxTokens = 4096

func (r *hookReader) readTimeout(n *yaml.Node, what string) {
	var ms int64
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!int" && n.Decode(&ms) == nil && ms > 0 && ms <= int64(maxTimeout/time.Millisecond) {
		r.hook.Timeout = time.Duration(ms) * time.Millisecond
		return
	}
	r.hook.Timeout = hooks.DefaultTimeout
	r.odd(n, "%s: no number of milliseconds from 1 to %d; it counts as %d", what, maxTimeout/time.Millisecond, hooks.DefaultTimeout/time.Millisecond)
}

const maxTimeout = 24 * time.Hour

func (r *hookReader) readCommand(n *yaml.Node, what string) {
	r.hook.program = Problem{File: r.file, Line: n.Line, Column: n.Column, Message: what}
	if n.Kind != yaml.SequenceNode {
		if s, ok := r.text(n, what); ok {
			r.hook.command = shellCommand(s)
		}
		return
	}
	if len(n.Content) == 0 {
		r.wrong(n, "%s: empty; want a program and its arguments", what)
	}
	for i, item := range n.Content {
		switch {
		case i > 0 && item.Kind == yaml.ScalarNode && item.ShortTag() != "!!null":
			r.hook.command = append(r.hook.command, item.Value) // can be empty
		default:
			s, _ := r.text(item, what)
			r.hook.command = append(r.hook.command, s)
		}
	}
}

func (r *hookReader) readURL(n *yaml.Node, what string) {
	s, ok := r.text(n, what)
	if !ok {
		return
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		r.wrong(n, "%s: want an address that begins with https:// or http://", what)
	case u.User != nil:
		r.wrong(n, "%s: a password does not belong in this file; name a variable with key_env:", what)
	default:
		r.hook.url = s
	}
}
