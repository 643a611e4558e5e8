package hookfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

// Type is the kind of a hook in a file, such as a matcher or a NATS request.
type Type string

// Types of hooks.
const (
	CommandType Type = "command"
	MatcherType Type = "matcher" // applies a rule from the file
	LLMType     Type = "llm"
	HTTPType    Type = "http"
	NATSType    Type = "nats"
)

// File contains the hooks and policies of a valid hooks.yaml.
type File struct {
	Name     string
	Hooks    []Hook      // in the order of the file
	Policies *policy.Set // nil if there are none
	Warnings []Problem   // invalid values that were replaced by a default
}

// Hook is one hook of a file.
type Hook struct {
	Event     string // name of the point as written in the file
	Point     hooks.Point
	Type      Type
	Name      string // name in the file, or the position, such as "PreToolUse[0]"
	Line      int
	Priority  int
	Timeout   time.Duration     // 0 for the default of the registry
	OnFailure hooks.FailureMode // of the hook or the file, 0 for the default of the point
	Async     bool
	Last      bool // runs after all others, on the final value
	Disabled  bool // Register skips the hook

	match []hooks.Matcher
	when  *condition
	ends  hooks.Option
	settings
}

type settings struct {
	command   []string
	program   Problem // where command is
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

// Load reads the file at path. An [InvalidError] lists all problems in the file. Programs that begin
// with ./ or ../ are relative to its folder. [File.CheckPrograms] reports missing ones.
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
	f, err := Parse(path, data)
	if err != nil {
		return nil, err
	}
	return f, f.resolve(filepath.Dir(path))
}

// Parse is like [Load], for the content of a file. Error messages contain name as the file name.
// Unlike Load, Parse leaves a relative path of a program relative to the working directory.
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

const (
	hooksKey    = "hooks"
	policiesKey = "policies"
	failureKey  = "on_failure" // of the file or of a hook
)

var topKeys = []string{hooksKey, policiesKey, failureKey}

func (r *reader) top(root *yaml.Node, f *File) {
	blocks := false
	for _, e := range r.entries(root, "the file") {
		switch e.name {
		case hooksKey:
			r.hooks(e.value, f)
		case failureKey:
			s, _ := r.word(e.value, failureKey, fileFailureWords)
			blocks = s == hooks.Block.String()
		case policiesKey:
			f.Policies = r.policies(e.value)
		default:
			r.wrong(e.key, "unknown key %q; %s", clip(e.name), oneOf(e.name, topKeys))
		}
	}
	for i := range f.Hooks {
		if h := &f.Hooks[i]; blocks && h.OnFailure == 0 && h.canBlock() {
			h.OnFailure = hooks.Block
		}
	}
}

func (h *Hook) canBlock() bool { return h.Point.Blocks && !h.Async }

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

func eventNames() []string {
	var short, long []string
	for _, p := range hooks.Points() {
		short = append(short, p.Aliases...)
		long = append(long, string(p.Kind))
	}
	return slices.Concat(short, long)
}
