package hookfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

// Type is what runs a hook.
type Type string

// The types of hooks.
const (
	CommandType Type = "command" // a program of its own
	MatcherType Type = "matcher" // a rule in the file
	LLMType     Type = "llm"     // a language model
	HTTPType    Type = "http"    // a server, asked by POST
	NATSType    Type = "nats"    // a decision service, asked by request-reply
)

// File is a hooks.yaml that can be used: it has been read as a whole and found
// to be right.
type File struct {
	Name     string
	Hooks    []Hook      // in the order of the file
	Policies *policy.Set // nil: none
	Warnings []Problem   // what counts otherwise than it is written
}

// Hook is one hook of a file.
type Hook struct {
	Event     string // the name of its point in the file
	Point     hooks.Point
	Type      Type
	Name      string // as in the file, else its place: "PreToolUse[0]"
	Line      int
	Priority  int
	Timeout   time.Duration     // 0: the registry's
	OnFailure hooks.FailureMode // 0: the point's
	Async     bool
	Disabled  bool // kept in the file, not registered

	match []hooks.Matcher
	when  *condition
	ends  hooks.Option // WhenSuccess or WhenFailure; nil: both
	settings
}

// settings are what single types of hooks have besides.
type settings struct {
	command   []string // argv
	action    string
	message   string
	provider  string
	model     string
	prompt    *prompt
	maxTokens int
	noCache   bool
	url       string
	keyEnv    string
	subject   string
}

// Load reads a file. If something is wrong with it, all of that is in an
// [InvalidError], and there is no File.
func Load(path string) (*File, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read hooks: %s does not exist", path)
	case err != nil:
		return nil, fmt.Errorf("read hooks: %w", err)
	case info.IsDir():
		return nil, fmt.Errorf("read hooks: %s is a folder; name a file in it", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read hooks: %w", err)
	}
	return Parse(path, data)
}

// Parse is [Load] for a file that has been read; name stands for it in problems.
func Parse(name string, data []byte) (*File, error) {
	r := &reader{file: name}
	f := &File{Name: name}
	if root := r.root(data); root != nil {
		r.top(root, f)
	}
	if len(r.problems) > 0 {
		return nil, &InvalidError{Problems: sorted(r.problems)}
	}
	f.Warnings = sorted(r.warnings)
	return f, nil
}

// The keys of a file.
const (
	hooksKey    = "hooks"
	policiesKey = "policies"
)

func (r *reader) top(root *yaml.Node, f *File) {
	for _, e := range r.entries(root, "the file") {
		switch e.name {
		case hooksKey:
			r.hooks(e.value, f)
		case policiesKey:
			f.Policies = r.policies(e.value)
		default:
			r.wrong(e.key, "unknown key %q; %s", clip(e.name), oneOf(e.name, []string{hooksKey, policiesKey}))
		}
	}
}

func (r *reader) hooks(n *yaml.Node, f *File) {
	for _, e := range r.entries(n, hooksKey) {
		point, ok := hooks.PointNamed(e.name)
		if !ok {
			r.wrong(e.key, "unknown event %q; %s", clip(e.name), oneOf(e.name, eventNames()))
		}
		for i, item := range r.items(e.value, e.name) {
			h := &Hook{Event: e.name, Point: point, Name: fmt.Sprintf("%s[%d]", e.name, i), Line: item.Line}
			r.hook(item, h)
			f.Hooks = append(f.Hooks, *h)
		}
	}
}

// eventNames returns what an event may be called: the short names first.
func eventNames() []string {
	var short, long []string
	for _, p := range hooks.Points() {
		short = append(short, p.Aliases...)
		long = append(long, string(p.Kind))
	}
	return slices.Concat(short, long)
}
