package policy

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

// WritePaths is the policy allowedWritePaths. Tools can only write files whose path matches one of
// the patterns.
//
// Strict applies to the writing tools of every agent and to patches, even in a shell command. It
// cleans each path and makes it relative to the root. "*" does not match "/", and "**/" matches any
// number of folders. A path outside of the root never matches a relative pattern. Strict denies a
// call without a path.
//
// Compat applies to the tools edit, create, write_file and create_file with an argument "path" or
// "file_path". It does not clean the path, and "**" matches any characters.
type WritePaths struct {
	patterns []string
	compiled []*regexp.Regexp // used by compat only
	opts     Options
}

// NewWritePaths returns the policy. Without patterns, strict denies every write and compat allows
// every write.
func NewWritePaths(patterns []string, opts Options) (*WritePaths, error) {
	if err := opts.validate(); err != nil {
		return nil, fmt.Errorf("allowedWritePaths: %w", err)
	}
	p := &WritePaths{patterns: slices.Clone(patterns), opts: opts}
	for i, glob := range patterns {
		if glob == "" || !doublestar.ValidatePattern(slashes(glob)) {
			return nil, fmt.Errorf("allowedWritePaths[%d]: bad pattern %q", i, glob)
		}
		if opts.compat() {
			p.compiled = append(p.compiled, compatGlob(glob))
		}
	}
	return p, nil
}

// Name returns the name of the policy.
func (*WritePaths) Name() string { return "policy.allowedWritePaths" }

// PreToolUse denies writes to paths that match no pattern.
func (p *WritePaths) PreToolUse(_ context.Context, meta hooks.Meta, call hooks.ToolCall) (*hooks.ToolDecision, error) {
	if p.opts.compat() {
		return p.compat(call), nil
	}
	root := p.opts.root(meta)
	switch {
	case p.opts.isWrite(call):
		paths := pathsOf(p.opts.members(call.Args))
		switch {
		case len(paths) == 0:
			return p.denied("unknown"), nil
		case len(paths) > maxPaths:
			return hooks.DenyTool(longReason("File write", "the list of files is too long to judge")), nil
		}
		return p.judge(paths, root), nil
	case p.opts.isShell(call):
		scripts, _ := p.opts.scripts(meta, call)
		if d := tooLong(scripts); d != nil {
			return d, nil
		}
		if d := p.judge(patchedByCommand(scripts), root); d != nil {
			return d, nil
		}
		return p.judgeScripts(scripts), nil
	}
	return nil, nil
}

func (p *WritePaths) judge(paths []string, root string) *hooks.ToolDecision {
	for _, name := range paths {
		if !p.allows(name, root) {
			return p.denied(name)
		}
	}
	return nil
}

func (p *WritePaths) judgeScripts(scripts []*script) *hooks.ToolDecision {
	var doubt *hooks.ToolDecision
	for _, s := range scripts {
		for _, file := range s.written() {
			name := seenFrom(file.Dir, file.Text)
			if p.allowsFile(file, name, s.root) {
				continue
			}
			if file.Known() && !strings.Contains(file.Dir, shell.Hole) {
				return p.denied(strings.Replace(name, shell.HomeDir, "~", 1))
			}
			if doubt == nil {
				doubt = p.opts.doubtful("File write needs approval: the path is only known when the command runs.")
			}
		}
	}
	return doubt
}

func (p *WritePaths) allowsFile(file shell.File, name, root string) bool {
	if locate(file.Word, file.Dir, root) == locationTemp {
		return true
	}
	if file.Glob { // "src/*" writes files of src
		name = strings.NewReplacer("*", "x", "?", "x", "[", "x", "]", "x").Replace(name)
	}
	return file.Known() && !strings.Contains(name, shell.Hole) && p.allows(name, root)
}

func (p *WritePaths) denied(name string) *hooks.ToolDecision {
	return hooks.DenyTool(fmt.Sprintf("File write blocked: \"%s\" does not match allowed paths. Allowed patterns: %s",
		strings.ReplaceAll(name, shell.Hole, "…"), strings.Join(p.patterns, ", ")))
}

func (p *WritePaths) allows(name, root string) bool {
	if strings.HasPrefix(name, "~") || strings.ContainsRune(name, 0) {
		return false
	}
	full := path.Clean(slashed(slashes(name)))
	if rest, ok := below(full, root); ok {
		full = rest
	}
	for _, glob := range p.patterns {
		glob = slashed(slashes(glob))
		if rest, ok := below(glob, root); ok {
			glob = rest
		}
		if path.IsAbs(full) != path.IsAbs(glob) || leaves(full) && !leaves(glob) {
			continue
		}
		if doublestar.MatchUnvalidated(strings.TrimPrefix(glob, "./"), full) {
			return true
		}
	}
	return false
}

func leaves(name string) bool { return name == ".." || strings.HasPrefix(name, "../") }

func patchedByCommand(scripts []*script) []string {
	var paths []string
	for _, s := range scripts {
		if !strings.Contains(s.text, "*** ") {
			continue
		}
		for _, c := range s.Commands {
			if squash(c.Name) != "applypatch" {
				continue
			}
			patched := patchedFiles(s.text)
			for _, a := range c.Args {
				patched = append(patched, patchedFiles(a.Text)...)
			}
			for _, name := range patched {
				paths = append(paths, seenFrom(c.Dir, name))
			}
		}
	}
	return paths
}

func seenFrom(dir, name string) string {
	if name = slashed(slashes(name)); dir == "" || path.IsAbs(name) {
		return name
	}
	return path.Join(dir, name)
}

func (p *WritePaths) compat(call hooks.ToolCall) *hooks.ToolDecision {
	name, ok := compatPath(call)
	if !ok || len(p.patterns) == 0 {
		return nil
	}
	for _, re := range p.compiled {
		if re.MatchString(slashes(name)) {
			return nil
		}
	}
	return p.denied(name)
}

func compatPath(call hooks.ToolCall) (string, bool) {
	switch call.Tool {
	case "edit", "create", "write_file", "create_file":
		return firstTruthy(call.Args, "path", "file_path")
	}
	return "", false
}

func compatGlob(glob string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString("^(?:")
	for rest := slashes(glob); rest != ""; {
		switch {
		case strings.HasPrefix(rest, "**"):
			b.WriteString("[^\n]*")
			rest = rest[2:]
			continue
		case rest[0] == '*':
			b.WriteString("[^/]*")
		case rest[0] == '?':
			b.WriteString("[^\n]")
		default:
			b.WriteString(regexp.QuoteMeta(rest[:1]))
		}
		rest = rest[1:]
	}
	b.WriteString(")$")
	return regexp.MustCompile(b.String())
}
