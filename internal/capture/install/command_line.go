package install

import (
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
)

const (
	lookup  = "command -v "
	found   = " >/dev/null 2>&1 && "
	ifFound = "if " + lookup
	then    = " >/dev/null 2>&1; then "
	orElse  = "; else "
	end     = "; fi"
	// sh runs a command line in the system's shell, because the user's own shell may have another
	// syntax.
	sh = "sh -c "
)

func (t *tool) commandLine(opts Options, event string) string {
	args := t.name
	if t.eventArgument {
		args += " " + event
	}
	if opts.Flags != "" {
		args += " " + opts.Flags
	}
	line := lookup + opts.Program + found + opts.Program + " hook " + args
	if opts.Hook != "" {
		line = ifFound + opts.Hook + then + opts.Hook + " " + args + orElse + line + end
	}
	if denial := t.denial(opts, event); denial != "" {
		// Use no shell variable except $?, because Gemini CLI replaces $name by a value of its own.
		line += "; case $? in 0) exit 0;; 2) exit 2;; esac; printf '%s\\n' " + termtext.ShellQuote(denial)
	} else {
		line += "; exit 0"
	}
	if t.userShell {
		return sh + termtext.ShellQuote(line)
	}
	return line
}

func (t *tool) denial(opts Options, event string) string {
	if !opts.failClosed() {
		return ""
	}
	agent, err := agents.Named(t.name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(agent.Closed(event, closedReason(opts.Program, t.name)).Stdout))
}

func closedReason(program, tool string) string {
	name, _ := firstWord(program)
	return "Blocked by Hooktrail, which fails closed: the program " + name + " did not run. Put it into the PATH of the agent. " +
		"If it moved, repeat publisher install " + tool + ". To continue without it, remove the hooks from the settings of the agent."
}

func innerCommand(line string) string {
	if quoted, ok := strings.CutPrefix(line, sh); ok {
		inner, _ := firstWord(quoted)
		if !strings.HasPrefix(inner, lookup) && !strings.HasPrefix(inner, ifFound) {
			return line
		}
		line = inner
	}
	if rest, ok := strings.CutPrefix(line, ifFound); ok {
		_, rest = firstWord(rest)
		if inner, ok := strings.CutPrefix(rest, then); ok {
			return inner
		}
	}
	if rest, ok := strings.CutPrefix(line, lookup); ok {
		_, rest = firstWord(rest)
		if inner, ok := strings.CutPrefix(rest, found); ok {
			return inner
		}
	}
	return line
}

func firstWord(line string) (word, rest string) {
	var b strings.Builder
	var quote byte
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == 0 && (c == ' ' || c == '\t'):
			return b.String(), line[i:]
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		case quote != '\'' && escapes(line[i:]):
			i++
			b.WriteByte(line[i])
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}

func escapes(s string) bool {
	return len(s) > 1 && s[0] == '\\' && strings.IndexByte(" \\\"'$`", s[1]) >= 0
}

func baseName(path string) string {
	return strings.TrimSuffix(path[strings.LastIndexAny(path, `/\`)+1:], ".exe")
}
