package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/platform/osuser"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// machine is a build machine with real users of the system: one for the publisher and one for the
// audited agent, who share a group.
type machine struct {
	dir            string // has the folders run, service and agent
	program        string // copy of this program that both may run
	service, agent *syscall.Credential
}

const (
	serviceID  = 23001
	groupID    = 23002
	agentID    = 65534 // nobody
	strangerID = 23003
)

func newMachine(t *testing.T) *machine {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can run processes as other users")
	}
	m := &machine{
		dir:     t.TempDir(),
		service: &syscall.Credential{Uid: serviceID, Gid: serviceID, Groups: []uint32{groupID}},
		agent:   &syscall.Credential{Uid: agentID, Gid: agentID, Groups: []uint32{groupID}},
	}
	if err := os.Chmod(filepath.Dir(m.dir), 0o755); err != nil { // private to root
		t.Fatal(err)
	}
	for _, name := range []string{"run", "service", "service/data", "agent"} {
		path, owner := filepath.Join(m.dir, name), serviceID
		if name == "agent" {
			owner = agentID
		}
		if err := errors.Join(os.Mkdir(path, 0o700), os.Chown(path, owner, groupID)); err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range map[string]os.FileMode{"run": 0o750, "service": 0o755, "service/data": 0o755} { // as an operator makes them
		if err := os.Chmod(filepath.Join(m.dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	m.copyProgram(t)
	hooks := filepath.Join(m.dir, "service", "hooks.yaml")
	if err := errors.Join(os.WriteFile(hooks, []byte(noRemoval), 0o600), os.Chown(hooks, serviceID, serviceID)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", filepath.Join(m.dir, "agent"))
	t.Setenv("HOOKTRAIL_KNOWN_LEDGERS", filepath.Join(m.dir, "service", "known_ledgers"))
	return m
}

func (m *machine) copyProgram(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	from, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	m.program = filepath.Join(m.dir, "hooktrail")
	to, err := os.OpenFile(m.program, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) data() string   { return filepath.Join(m.dir, "service", "data") }
func (m *machine) socket() string { return filepath.Join(m.dir, "run", "publisher.sock") }

func (m *machine) serve(t *testing.T) *process {
	t.Helper()
	p := startProgram(t, m.program, m.service, nil, "publisher", "serve", "--listen", "none", "--data-dir", m.data(),
		"--hooks", filepath.Join(m.dir, "service", "hooks.yaml"), "--socket", m.socket(), "--socket-group", fmt.Sprint(groupID))
	waitUntil(t, "the publisher serves the group", func() bool {
		select {
		case <-p.done:
			t.Fatalf("the publisher ended: %s", p.stderr.String())
		default:
		}
		conn, err := net.Dial("unix", m.socket())
		return err == nil && conn.Close() == nil
	})
	return p
}

func (m *machine) hook(t *testing.T, user *syscall.Credential, payload []byte, more ...string) (stdout, stderr string) {
	t.Helper()
	args := append([]string{"hook", "claude-code", "--publisher", "unix://" + m.socket(), "--data-dir", filepath.Join(m.dir, "agent", "data")}, more...)
	p := startProgram(t, m.program, user, payload, "publisher", args...)
	if status := p.status(t); status != 0 {
		t.Fatalf("hook: exit status %d, %s", status, p.stderr.String())
	}
	return p.stdout.String(), p.stderr.String()
}

func shell(user *syscall.Credential, script string) (string, error) {
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: user}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

const noRemovalSays = "Nothing is removed here"

func harmless(n int) []byte {
	return bytes.Replace(call("PreToolUse", n), []byte("rm -rf build/x"), []byte("ls"), 1)
}

// The agent and the publisher run as different users. Only the publisher decides and records, and
// it names the agent's user. While it is away the agent continues, and afterwards each event is in
// the ledger once.
//
//guarantee:agent-owns-nothing
//guarantee:hook-offline
func TestUsers_BuildMachine(t *testing.T) {
	m := newMachine(t)
	p := m.serve(t)
	if out, errs := m.hook(t, m.agent, call("PreToolUse", 1)); !strings.Contains(out, noRemovalSays) || errs != "" {
		t.Errorf("got %s, %s, want a denial", out, errs)
	}
	if out, errs := m.hook(t, m.agent, harmless(2)); out != "" || errs != "" {
		t.Errorf("got %s, %s", out, errs)
	}
	// The agent's own hooks decide nothing.
	if out, errs := m.hook(t, m.agent, call("PreToolUse", 3), "--hooks", "/dev/null"); !strings.Contains(out, noRemovalSays) || !strings.Contains(errs, "--hooks") {
		t.Errorf("with own hooks: got %s, %s", out, errs)
	}
	stranger := &syscall.Credential{Uid: strangerID, Gid: strangerID}
	if out, errs := m.hook(t, stranger, harmless(90)); out != "" || !strings.Contains(errs, "permission denied") {
		t.Errorf("outside the group: got %s, %s", out, errs)
	}
	m.claim(t)
	m.trespass(t)
	p.kill()
	if out, errs := m.hook(t, m.agent, call("PreToolUse", 4)); out != "" || !strings.Contains(errs, "connection refused") {
		t.Errorf("while it is away: got %s, %s", out, errs)
	}
	if out, _ := m.hook(t, m.agent, harmless(5), "--fail-closed"); !strings.Contains(out, "deny") {
		t.Errorf("with --fail-closed: got %s, want a denial", out)
	}
	p = m.serve(t)
	if out, errs := m.hook(t, m.agent, harmless(6)); out != "" || errs != "" {
		t.Errorf("after its return: got %s, %s", out, errs)
	}
	if left, err := os.ReadDir(filepath.Join(m.dir, "agent", "data", "hook-spool")); err != nil || len(left) > 0 {
		t.Errorf("the spool has %v, %v", left, err)
	}
	p.stopCleanly(t)
	m.checkLedger(t)
}

// A build machine is set up as in docs/operations.md, and the installed hook runs.
//
//guarantee:agent-owns-nothing
//guarantee:socket-only
func TestUsers_TwoCommands(t *testing.T) {
	m := newMachine(t)
	hooks := filepath.Join(m.dir, "service", "hooks.yaml")
	p := startProgram(t, m.program, m.service, nil, "hooktrail", "up", "--auth", "required", "--data-dir", m.data(),
		"--hooks", hooks, "--socket", m.socket(), "--socket-group", fmt.Sprint(groupID), "--http-listen", "none")
	waitUntil(t, "the services are ready", func() bool {
		out, err := shell(m.agent, "test -S "+m.socket())
		return err == nil && out == "" && strings.Contains(p.stdout.String(), "nats ")
	})
	installed := startProgram(t, m.program, m.agent, nil, "publisher", "install", "claude-code", "--publisher", "unix://"+m.socket(), "--fail-closed")
	if status := installed.status(t); status != 0 {
		t.Fatalf("install: exit status %d, %s", status, installed.stderr.String())
	}
	settings, err := os.ReadFile(filepath.Join(m.dir, "agent", ".claude", "settings.json"))
	if want := "--publisher unix://" + m.socket(); err != nil || !strings.Contains(string(settings), want) || !strings.Contains(string(settings), "--fail-closed") {
		t.Fatalf("the settings have no %s: %v\n%s", want, err, settings)
	}
	waitUntil(t, "the publisher decides", func() bool {
		out, _ := m.hook(t, m.agent, call("PreToolUse", 1), "--fail-closed")
		return strings.Contains(out, noRemovalSays)
	})
	if out, errs := m.hook(t, m.agent, harmless(2), "--fail-closed"); out != "" || errs != "" {
		t.Errorf("got %s, %s", out, errs)
	}
	url, err := os.ReadFile(filepath.Join(m.data(), "nats", "url"))
	if err != nil {
		t.Fatal(err)
	}
	if nc, err := nats.Connect(strings.TrimSpace(string(url))); !errors.Is(err, nats.ErrAuthorization) {
		nc.Close()
		t.Errorf("the agent at the broker: got %v, want %v", err, nats.ErrAuthorization)
	}
	if out := p.stdout.String(); strings.Contains(out, "http://") || !strings.Contains(out, "unix://"+m.socket()) {
		t.Errorf("it has an address that every user reaches: %s", out)
	}
	m.trespass(t)
	p.stopCleanly(t)
}

func (m *machine) claim(t *testing.T) {
	t.Helper()
	post := func(kind, data string) string {
		e := `{"specversion":"1.0","id":"` + kind + `","source":"/agent","type":"hooktrail.` + kind + `","time":"2026-01-01T00:00:00Z","userid":"boss","runid":"r","data":` + data + `}`
		out, err := shell(m.agent, "curl -s --unix-socket '"+m.socket()+"' -H 'Content-Type: application/cloudevents+json' -d '"+e+"' http://localhost/v1/events")
		if err != nil {
			t.Fatalf("curl: %v, %s", err, out)
		}
		return out
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Log("curl is not installed; claims are not tried")
		return
	}
	if out := post("custom", `{"name":"claimed"}`); !strings.Contains(out, `"accepted":1`) {
		t.Errorf("got %s", out)
	}
	if out := post("issue.edited", `{"by":"boss"}`); !strings.Contains(out, "reserved") {
		t.Errorf("an edit in another's name: got %s", out)
	}
}

// trespass lets the agent try to read and change files of the publisher. Its folders are open for all
// users, but what is in them is not.
func (m *machine) trespass(t *testing.T) {
	t.Helper()
	data := m.data()
	if out, err := shell(m.agent, "find "+data+" -mindepth 1 \\( -readable -o -writable \\) 2>/dev/null"); out != "" {
		t.Errorf("the agent's user may use %s, %v", out, err)
	}
	for _, file := range []string{
		filepath.Join(m.dir, "service", "hooks.yaml"), filepath.Join(data, "hook-ids.key"),
		filepath.Join(data, "outbox", "serve"), filepath.Join(data, "nats", "secret"), filepath.Join(data, "nats", "keys", "publisher.nk"),
		filepath.Join(data, "keys"), filepath.Join(data, "ledger"), filepath.Join(data, "publisher.sock"),
	} {
		if _, err := os.Lstat(file); err != nil { // without an auditor there is no ledger
			continue
		}
		for _, attempt := range []string{"cat %s", "ls %s/.", "echo x >> %s", "touch %s/x", "rm -rf %s", "mv %s /tmp/", "chmod 777 %s"} {
			if out, err := shell(m.agent, fmt.Sprintf(attempt, file)); err == nil {
				t.Errorf("%s worked: %s", fmt.Sprintf(attempt, file), out)
			}
		}
	}
	for _, attempt := range []string{"rm -f %s", "mv %s %[1]s.old", "ln -sf /tmp/x %s", "touch %s.new", "chmod 666 %s"} {
		if out, err := shell(m.agent, fmt.Sprintf(attempt, m.socket())); err == nil {
			t.Errorf("%s worked: %s", fmt.Sprintf(attempt, m.socket()), out)
		}
	}
	for path, owner := range map[string]uint32{m.socket(): serviceID, filepath.Join(m.dir, "service", "hooks.yaml"): serviceID, data: serviceID} {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Uid != owner {
			t.Errorf("%s belongs to %d", path, stat.Uid)
		}
	}
	info, err := os.Stat(m.socket())
	if stat, ok := info.Sys().(*syscall.Stat_t); err != nil || !ok || stat.Gid != groupID || info.Mode().Perm() != 0o660 {
		t.Errorf("the socket has %v, %v", info.Mode(), err)
	}
}

// checkLedger requires each call once, with the name of the agent's user.
func (m *machine) checkLedger(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{{"publisher", "outbox", "flush"}, {"auditor", "serve", "--drain"}, {"auditor", "verify"}} {
		p := startProgram(t, m.program, m.service, nil, args[0], append(args[1:], "--data-dir", m.data())...)
		if status := p.status(t); status != 0 {
			t.Fatalf("%v: exit status %d\n%s%s", args, status, p.stdout.String(), p.stderr.String())
		}
	}
	calls := map[string]string{} // verdict by call
	claims := 0
	for entry, err := range read(t, m.data(), "default").After(t.Context(), -1) {
		if err != nil {
			t.Fatal(err)
		}
		if entry.Manifest() || entry.Kind == events.RunSealed {
			continue
		}
		e, err := events.Decode(entry.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if e.User != osuser.Named(agentID) {
			t.Errorf("%s of user %q, want %q", e.Type, e.User, osuser.Named(agentID))
		}
		if entry.Kind == events.ToolBefore {
			data, err := events.Payload[events.ToolBeforeData](e)
			if err != nil {
				t.Fatal(err)
			}
			if _, twice := calls[e.ToolCall]; twice {
				t.Errorf("call %s is in the ledger twice", e.ToolCall)
			}
			calls[e.ToolCall] = string(data.Verdict)
		}
		for _, a := range e.Extra {
			if a.Name == "claimeduserid" && json.Valid(a.Value) && strings.Contains(string(a.Value), "boss") {
				claims++
			}
		}
	}
	want := map[string]string{"t1": "deny", "t2": "none", "t3": "deny", "t4": "none", "t5": "deny", "t6": "none"}
	for id, verdict := range want {
		if got, ok := calls[id]; !ok || verdict == "deny" && got != verdict || verdict != "deny" && got == "deny" {
			t.Errorf("call %s: got %q (%v), want %q", id, got, ok, verdict)
		}
	}
	if len(calls) != len(want) {
		t.Errorf("got calls %v", calls)
	}
	if _, err := exec.LookPath("curl"); err == nil && claims != 1 {
		t.Errorf("%d claims on record, want 1", claims)
	}
}
