package policy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

type guard struct {
	name, title string
	opts        Options
	asks        bool // the guard never denies a shell command

	script func(s *script) finding
	read   func(file shell.File, root string) finding // a file that a tool reads, nil to ignore it
	write  func(file shell.File, root string) finding // a file that a tool or a command writes, nil to ignore it
}

func newGuard(g guard, opts Options) (*guard, error) {
	if err := opts.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", g.name, err)
	}
	g.opts = opts
	return &g, nil
}

// Name returns the name of the policy.
func (g *guard) Name() string { return "policy." + g.name }

// PreToolUse denies a tool call if it certainly does what the preset forbids. If this is uncertain,
// it asks the user.
func (g *guard) PreToolUse(_ context.Context, meta hooks.Meta, call hooks.ToolCall) (*hooks.ToolDecision, error) {
	f := g.judge(meta, call)
	switch {
	case f.what == "":
		return nil, nil
	case f.unknown:
		return g.opts.doubtful(g.title + " needs approval: " + f.what + "."), nil
	}
	return hooks.DenyTool(g.title + " blocked: " + f.what + "."), nil
}

func (g *guard) judge(meta hooks.Meta, call hooks.ToolCall) finding {
	root := g.opts.root(meta)
	judge := g.judgePaths
	switch {
	case g.opts.isShell(call):
		judge = g.judgeShell
	case g.write != nil && g.opts.isWrite(call):
	case g.read != nil && g.opts.isRead(call):
	default:
		return finding{}
	}
	if g.opts.decode(call.Args).repeats {
		return finding{what: "the arguments repeat a name, so the tool can read other ones", unknown: g.asks}
	}
	return judge(meta, call, root)
}

func (g *guard) judgePaths(_ hooks.Meta, call hooks.ToolCall, root string) finding {
	members := g.opts.members(call.Args)
	if g.write != nil && g.opts.isWrite(call) {
		return eachPath(members, root, g.write)
	}
	return eachPath(members, root, g.read).or(eachPattern(members, root, g.read))
}

func (g *guard) judgeShell(meta hooks.Meta, call hooks.ToolCall, root string) finding {
	var worst finding
	scripts, _ := g.opts.scripts(meta, call)
	if tooLong(scripts) != nil {
		return finding{what: string(shell.DoubtTooLong), unknown: g.asks}
	}
	for _, s := range scripts {
		worst = worst.or(g.script(s))
		if g.write != nil {
			for _, file := range s.written() {
				worst = worst.or(g.write(file, root))
			}
		}
	}
	return worst
}

// eachPattern judges the patterns that select the files of a tool.
func eachPattern(args map[string]any, root string, judge func(shell.File, string) finding) finding {
	var worst finding
	dir := dirOf(args)
	for _, key := range slices.Sorted(maps.Keys(args)) {
		if !patternKeys[squash(key)] {
			continue
		}
		for _, name := range textsOf(args[key])[:min(maxPaths, len(textsOf(args[key])))] {
			worst = worst.or(judge(shell.File{Word: shell.Word{Text: homed(slashes(name)), Glob: strings.ContainsAny(name, "*?[")}, Dir: dir}, root))
		}
	}
	return worst
}

var patternKeys = words("glob globs include includes")

const maxPaths = 20_000

func eachPath(args map[string]any, root string, judge func(shell.File, string) finding) finding {
	paths, dir := pathsOf(args), dirOf(args)
	if len(paths) > maxPaths {
		return blocked("the list of files is too long to judge")
	}
	var worst finding
	for _, name := range paths {
		worst = worst.or(judge(shell.File{Word: shell.Word{Text: homed(slashes(name))}, Dir: dir}, root))
	}
	return worst
}

func (f finding) or(g finding) finding {
	if f.what == "" || f.unknown && g.what != "" && !g.unknown {
		return g
	}
	return f
}

func blocked(what string) finding { return finding{what: what} }

func doubted(what string) finding { return finding{what: what, unknown: true} }

func (s *script) eachCommand(judge rule) finding {
	var worst finding
	for _, cmd := range s.Commands {
		if !asksForHelp(cmd) {
			worst = worst.or(judge(cmd, s.root))
		}
	}
	return worst
}
