package publisher

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/platform/groupsocket"
	"github.com/hooktrail/hooktrail/internal/platform/osuser"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// socketServer runs a publisher with a group socket, and returns a client of the
// socket.
func socketServer(t *testing.T) (srv *natstest.Server, r *running, over *http.Client, path string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux names the user of a connection")
	}
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "publisher.sock")
	srv = natstest.Listen(t, t.TempDir())
	b, err := broker.Open(t.Context(), broker.Options{URL: srv.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close(context.Background()) })
	r = runServer(t, Options{Broker: b, DataDir: t.TempDir(), Access: Access{Socket: groupsocket.Options{Path: path}}})
	over = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return groupsocket.Dial(ctx, path)
	}}}
	return srv, r, over, path
}

// A publisher with a group socket takes users only from connections. A sender over TCP
// has no user, and the user that it claims is recorded as a claim.
//
//guarantee:agent-owns-nothing
func TestRun_UserOfTheConnection(t *testing.T) {
	srv, r, over, _ := socketServer(t)
	claim := func(id string) string {
		return `{"specversion":"1.0","id":"` + id + `","source":"s","type":"t","userid":"boss","claimeduserid":"x"}`
	}
	resp, err := over.Post("http://localhost/v1/events", structuredType, strings.NewReader(claim("socket")))
	if err != nil {
		t.Fatal(err)
	}
	if status, body := reply(t, resp); status != http.StatusAccepted {
		t.Errorf("over the socket: %d %s", status, body)
	}
	if status, body := r.post(t, claim("tcp")); status != http.StatusAccepted {
		t.Errorf("over TCP: %d %s", status, body)
	}
	r.end(t)
	want := map[string]string{"socket": osuser.Current(), "tcp": ""}
	for _, e := range srv.Events(t) {
		user, ok := want[e.ID]
		if !ok {
			continue
		}
		delete(want, e.ID)
		if e.User != user || len(e.Extra) != 1 || e.Extra[0].Name != claimedUser || string(e.Extra[0].Value) != `"boss"` {
			t.Errorf("%s: user %q and %v, want user %q and the claim", e.ID, e.User, e.Extra, user)
		}
	}
	if len(want) > 0 {
		t.Errorf("not in the stream: %v", want)
	}
}

// A hook spools its events while the publisher is away. The next hook and Resend send
// them once, and set aside files that the publisher refuses permanently.
//
//guarantee:hook-offline
func TestRun_SpoolIsResent(t *testing.T) {
	srv, r, _, path := socketServer(t)
	tool, err := agents.Named("claude-code")
	if err != nil {
		t.Fatal(err)
	}
	opts := hookclient.Options{DataDir: t.TempDir(), Tool: tool, Timeout: hookclient.DefaultTimeout, Publisher: "unix://" + path}
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	payload := func(id string) string {
		return `{"session_id":"s1","cwd":"/p","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"` + id + `"}`
	}
	answer := func(id string) []string {
		return hookclient.Answer(t.Context(), strings.NewReader(payload(id)), opts).Problems
	}
	if p := answer("t1"); len(p) == 0 || !strings.Contains(p[0], "no such file") {
		t.Errorf("without a publisher: problems %q", p)
	}
	spooled, err := os.ReadDir(hookclient.SpoolDir(opts.DataDir))
	if err != nil || len(spooled) == 0 {
		t.Fatalf("spooled %v, %v", spooled, err)
	}
	_, suffix, _ := strings.Cut(spooled[0].Name(), ".")
	refused := filepath.Join(hookclient.SpoolDir(opts.DataDir), "0."+suffix)
	if err := os.WriteFile(refused, []byte(opts.Publisher+"\n"+`{"specversion":"1.0","id":"e","source":"s","type":"hooktrail.issue.edited"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	if p := answer("t2"); len(p) != 1 || !strings.Contains(p[0], filepath.Base(refused)+".refused") {
		t.Errorf("an event that is refused: problems %q", p)
	}
	if _, err := hookclient.Resend(t.Context(), hookclient.ResendOptions{DataDir: opts.DataDir, Publisher: opts.Publisher}); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(hookclient.SpoolDir(opts.DataDir))
	if err != nil || len(left) != 1 || left[0].Name() != filepath.Base(refused)+".refused" {
		t.Errorf("the spool has %v, %v", left, err)
	}
	r.end(t)
	calls := map[string]int{}
	for _, e := range srv.Events(t) {
		if e.Kind() == events.ToolBefore {
			calls[e.ToolCall]++
			if e.User != osuser.Current() {
				t.Errorf("call %s is of user %q", e.ToolCall, e.User)
			}
		}
	}
	if len(calls) != 2 || calls["t1"] != 1 || calls["t2"] != 1 {
		t.Errorf("in the stream are calls %v", calls)
	}
}
