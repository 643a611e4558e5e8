package hookfile

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

func (f *File) resolve(folder string) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return fmt.Errorf("read hooks: %w", err)
	}
	for i := range f.Hooks {
		c := f.Hooks[i].command
		switch line, isLine := shellLine(c); {
		case isLine && isRelative(line):
			f.Hooks[i].command = shellCommand(shellQuote(folder) + "/" + line)
		case len(c) > 0 && isRelative(c[0]):
			c[0] = filepath.Join(folder, c[0])
		}
	}
	return nil
}

// CheckPrograms returns an [InvalidError] with the enabled command hooks whose program is missing or
// not executable. It does not know the programs of shell lines, apart from a path at their start.
func (f *File) CheckPrograms() error {
	var problems []Problem
	for _, h := range f.Hooks {
		if h.Type != CommandType || h.Disabled || len(h.command) == 0 {
			continue
		}
		name := h.command[0]
		if line, isLine := shellLine(h.command); isLine {
			if name = pathOf(line); name == "" {
				continue
			}
		}
		if _, err := exec.LookPath(name); err != nil {
			p := h.program
			p.Message += ": the program does not exist or is not executable; ./ at the start of a command is the folder of the file"
			problems = append(problems, p)
		}
	}
	if len(problems) > 0 {
		return &InvalidError{Problems: sorted(problems)}
	}
	return nil
}

func isRelative(program string) bool {
	return strings.HasPrefix(program, "./") || strings.HasPrefix(program, "../")
}

func shellLine(command []string) (line string, ok bool) {
	if len(command) == 3 && command[0] == "sh" && command[1] == "-c" {
		return command[2], true
	}
	return "", false
}

func pathOf(line string) string {
	name := ""
	if rest, ok := strings.CutPrefix(line, "'"); ok { // see resolve
		folder, after, closed := strings.Cut(rest, "'")
		if !closed {
			return ""
		}
		name, line = folder, after
	}
	end := strings.IndexAny(line, " \t\n;&|<>()")
	if end < 0 {
		end = len(line)
	}
	name += line[:end]
	if !strings.Contains(name, "/") || strings.ContainsAny(line[:end], "'\"\\$`*?[~={#") {
		return ""
	}
	return name
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
