package install

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
)

// TrustState says whether an agent runs the hooks of a configuration.
type TrustState string

// The states of trust.
const (
	TrustNotNeeded TrustState = "not needed"
	Trusted        TrustState = "trusted"
	NotTrusted     TrustState = "not trusted"
	TrustUnknown   TrustState = "unknown"
	TrustAsked     TrustState = "asked" // the agent asks when a person first opens the folder
)

// Status is the state of the hooks in one configuration of an agent.
type Status struct {
	Tool      string     `json:"tool"`
	File      string     `json:"file"`
	Installed bool       `json:"installed"`
	Trust     TrustState `json:"trust,omitempty"`
	TrustFile string     `json:"trust_file,omitempty"` // file of the agent with the trust
	Command   string     `json:"command,omitempty"`    // hook command of a call
	Program   string     `json:"program,omitempty"`    // program that the command runs
	Outdated  bool       `json:"outdated,omitempty"`   // an older version wrote the hooks, or some are missing

	// The fields from Denied to Took are the result of a made-up tool call that tests the hooks.
	Denied   bool          `json:"denied"`   // it denied the call in the format of the agent
	Recorded bool          `json:"recorded"` // the event is in the outbox or with a publisher
	Reason   string        `json:"reason,omitempty"`
	Problem  string        `json:"problem,omitempty"`
	Took     time.Duration `json:"took_ns,omitempty"`
}

// Works reports whether an agent runs the installed hooks, and the hooks record events and deny
// calls.
func (s *Status) Works() bool {
	return s.Installed && s.Denied && s.Recorded && (s.Trust != NotTrusted && s.Trust != TrustUnknown)
}

// Check reads the installed hooks of an agent and tries one with a made-up tool call, see
// [agents.Canary]. It does not start the agent.
func Check(ctx context.Context, name string, opts Options, dir string) (Status, error) {
	t, err := named(name)
	if err != nil {
		return Status{}, err
	}
	opts.Uninstall = true // this plan reads the file without requirements
	c, err := Plan(name, opts)
	if err != nil {
		return Status{}, err
	}
	s := Status{Tool: c.Tool, File: c.File}
	agent, err := agents.Named(name)
	if err != nil {
		return s, err
	}
	now := time.Now()
	canary := agent.Canary(fmt.Sprintf("%x", now.UnixNano()), dir, now)
	commands, err := t.commands(c, opts)
	if err != nil {
		return s, err
	}
	s.Command = commands[canary.CallEvent]
	if s.Installed = s.Command != ""; !s.Installed {
		return s, nil
	}
	s.Outdated, s.Program = t.outdated(commands), programOf(s.Command)
	s.Trust, s.TrustFile = t.trustState(c, opts)
	s.call(ctx, t, dir, canary.Call)
	if end := commands[canary.EndEvent]; end != "" && s.Recorded {
		if _, err := t.runHook(ctx, end, dir, canary.End); err != nil {
			s.Problem = "end of the session: " + err.Error()
		}
	}
	return s, nil
}

func (s *Status) call(ctx context.Context, t *tool, dir string, payload []byte) {
	start := time.Now()
	out, err := t.runHook(ctx, s.Command, dir, payload)
	s.Took = time.Since(start)
	s.Reason, s.Denied = agents.ReadDenial(out)
	s.Recorded = s.Denied && strings.HasPrefix(s.Reason, agents.CanaryReason)
	switch {
	case err != nil:
		s.Problem = err.Error()
	case !s.Denied:
		s.Problem = "the hook command does not deny; is the program missing, or older than this one?"
	case !s.Recorded:
		s.Problem = "the event is not recorded"
	}
}

const hookLimit = 15 * time.Second

func (t *tool) runHook(ctx context.Context, command, dir string, payload []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, hookLimit)
	defer cancel()
	shell := append([]string{"/bin/sh", "-c"}, command)
	if t.shell != nil {
		shell = append(t.shell(os.Getenv), command)
	}
	cmd := exec.CommandContext(ctx, shell[0], shell[1:]...)
	cmd.Dir, cmd.Stdin, cmd.WaitDelay = dir, bytes.NewReader(payload), time.Second
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return out, fmt.Errorf("the hook command does not end within %v", hookLimit)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		line, _, _ := strings.Cut(strings.TrimSpace(errs.String()), "\n")
		return out, fmt.Errorf("the hook command ended with status %d: %s", exit.ExitCode(), line)
	}
	return out, err
}

func (t *tool) trustState(c *Change, opts Options) (TrustState, string) {
	opts.Uninstall = false
	installed := *c
	installed.after = c.before
	list, err := PlanTrust(&installed, opts)
	switch {
	case err != nil:
		return TrustUnknown, err.Error()
	case len(list) == 0 && t.asksForFolder && opts.Project != "":
		return TrustAsked, ""
	case len(list) == 0:
		return TrustNotNeeded, ""
	case list[0].Action() != Unchanged:
		return NotTrusted, list[0].File
	}
	return Trusted, list[0].File
}

func programOf(line string) string {
	program, _ := firstWord(innerCommand(line))
	if baseName(program) != hookProgram {
		return program
	}
	if _, err := exec.LookPath(program); err == nil {
		return program
	}
	_, rest, _ := strings.Cut(line, orElse)
	program, _ = firstWord(innerCommand(rest))
	return program
}

// outdated also finds hook commands of earlier versions, which have no shell code around the
// program.
func (t *tool) outdated(commands map[string]string) bool {
	if t.plugin {
		return false
	}
	for _, event := range t.events {
		if innerCommand(commands[event]) == commands[event] {
			return true
		}
	}
	return false
}

func (t *tool) commands(c *Change, opts Options) (map[string]string, error) {
	all := map[string]string{}
	if !c.exists || len(bytes.TrimSpace(c.before)) == 0 {
		return all, nil
	}
	if t.plugin {
		return pluginCommands(string(c.before), "tool.execute.before", "session.deleted"), nil
	}
	doc, err := parse(c.File, c.before)
	if err != nil {
		return nil, err
	}
	program, _ := firstWord(opts.Program)
	recognise := oursOf(t.name, "publisher", program)
	for _, event := range items(orEmpty(member(doc.root, hooksKey))) {
		for _, at := range recognise.find(event.value) {
			handler := items(event.value)[at.entry].value
			if group := member(handler, hooksKey); group != nil {
				handler = items(group)[max(0, at.handler)].value
			}
			for _, key := range commandKeys {
				if v := member(handler, key); kind(v) == kindText && recognise.wrote(literal(v)) {
					all[event.key] = literal(v)
				}
			}
		}
	}
	return all, nil
}

var pluginConst = regexp.MustCompile(`(?m)^const (hook|faster|flags) = (".*")$`)

func pluginCommands(script string, events ...string) map[string]string {
	values := map[string]string{}
	for _, m := range pluginConst.FindAllStringSubmatch(script, -1) {
		var value string
		if json.Unmarshal([]byte(m[2]), &value) == nil {
			values[m[1]] = value
		}
	}
	all := map[string]string{}
	if values["hook"] == "" {
		return all
	}
	for _, event := range events {
		all[event] = pluginLine(values["hook"], values["faster"], event, values["flags"])
	}
	return all
}
