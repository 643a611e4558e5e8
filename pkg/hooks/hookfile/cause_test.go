package hookfile

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// The failure of a command quotes the last lines of stderr, but no text of the call and no secret.
func TestCommandCauses(t *testing.T) {
	long := strings.Repeat("word ", 100)
	secret := "ghp_" + "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"
	for name, tt := range map[string]struct{ command, want string }{
		"Status":    {`echo one >&2; echo two >&2; echo three >&2; echo four >&2; exit 1`, "exit status 1: two | three | four"},
		"Silent":    {`exit 7`, "exit status 7"},
		"Missing":   {`/does/not/exist 2>&1 | sed 's/.*: //' >&2; exit 127`, "exit status 127: not found"},
		"Signal":    {`echo bye >&2; kill -9 $$`, "program was ended by a signal: bye"},
		"BadAnswer": {`echo allowed; echo 'no JSON here' >&2`, "answer is not one JSON object: no JSON here"},
		"Input":     {`cat >&2; exit 1`, `exit status 1: {"event":"PreToolUse","point":"tool.before","tool":"Bash","args":{"command":"[input]"},"session_id":"abc123","timestamp":"2024-01-15T10:30:00Z","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"[input]"}}`},
		"Secret":    {`echo "token ` + secret + `" >&2; exit 1`, "exit status 1: token [SECRET_REDACTED]"},
		"Control":   {`printf 'a\033[31mb\n\n\tc' >&2; exit 1`, "exit status 1: a\x1b[31mb | c"},
		"Long":      {`echo "` + long + `" >&2; exit 1`, "exit status 1: …" + strings.TrimSpace(long)[len(long)-1-maxTail:]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := dispatch(t, register(t, commandHook("PreToolUse", tt.command), Options{}), gitStatus)
			if x := one(t, out); x.Error != tt.want {
				t.Errorf("got  %q\nwant %q", x.Error, tt.want)
			}
		})
	}
}

func FuzzWithStderr(f *testing.F) {
	f.Add([]byte("a\nb"), "git status")
	f.Add([]byte("+ echo secret text"), "secret text")
	f.Fuzz(func(t *testing.T, stderr []byte, input string) {
		args, err := hooks.Marshal(map[string]string{"x": input})
		if err != nil {
			return
		}
		fault := string(withStderr("exit status 1", stderr, hooks.Document{Args: args}))
		if len(fault) > len("exit status 1: …")+maxTail || strings.ContainsAny(fault, "\r\n") || strings.ToValidUTF8(fault, "") != fault {
			t.Fatalf("got %q", fault)
		}
	})
}

func TestNetworkCauses(t *testing.T) {
	hangUp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hangUp.Close()
	go func() {
		for {
			conn, err := hangUp.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	secure.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for url, want := range map[string]string{
		"http://" + hangUp.Addr().String():             "server cannot be reached: connection closed",
		secure.URL:                                     "server cannot be reached: invalid certificate",
		strings.Replace(plain.URL, "http", "https", 1): "server cannot be reached: no TLS at this port",
		"http://does-not-exist.invalid":                "server cannot be reached: ",
	} {
		r := register(t, "hooks:\n  PreToolUse:\n    - {type: http, timeout_ms: 30000, url: \""+url+"\"}\n", Options{})
		if x := one(t, dispatch(t, r, gitStatus)); !strings.HasPrefix(x.Error, want) {
			t.Errorf("%s: got %q", url, x.Error)
		}
	}
}
