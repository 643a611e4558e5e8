package hooktrail

import (
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

func TestMain(m *testing.M) {
	programs := map[string]func(){}
	for name, command := range commands() {
		programs[name] = func() { cli.Main(command()) }
	}
	testscript.Main(m, programs)
}

// Each script has its own data directory and address.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:  "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"await": await, "post": post, "decide": decide, "terminate": terminate},
		Setup: func(env *testscript.Env) error {
			for _, variable := range os.Environ() {
				name, _, _ := strings.Cut(variable, "=")
				if strings.HasPrefix(name, "HOOKTRAIL_") || name == "NATS_URL" {
					env.Setenv(name, "")
				}
			}
			env.Setenv("HOOKTRAIL_DATA_DIR", env.Cd+"/data")
			env.Setenv("HOOKTRAIL_KNOWN_LEDGERS", env.Cd+"/known_ledgers")
			env.Setenv("TMPDIR", env.Cd+"/tmp")
			address, err := freeAddress()
			env.Setenv("HTTP", address)
			return err
		},
	})
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// await URL [PATTERN] waits until URL answers 200 with a matching body.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 || len(args) > 2 {
		ts.Fatalf("usage: await URL [PATTERN]")
	}
	pattern := regexp.MustCompile("(?m)" + strings.Join(args[1:], ""))
	deadline := time.Now().Add(30 * time.Second)
	for {
		status, body, err := ask(http.Get(args[0]))
		if status == http.StatusOK && pattern.MatchString(body) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s answered %d, %v:\n%s", args[0], status, err, body)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// post FILE URL sends a batch of CloudEvents, which must be accepted.
func post(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: post FILE URL")
	}
	status, body, err := ask(http.Post(args[1], "application/cloudevents-batch+json", strings.NewReader(ts.ReadFile(args[0]))))
	if status != http.StatusAccepted {
		ts.Fatalf("%s answered %d, %v: %s", args[1], status, err, body)
	}
}

// decide FILE URL PATTERN sends a document and matches the answer.
func decide(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: decide FILE URL PATTERN")
	}
	status, body, err := ask(http.Post(args[1], "application/json", strings.NewReader(ts.ReadFile(args[0]))))
	if status != http.StatusOK || !regexp.MustCompile(args[2]).MatchString(body) {
		ts.Fatalf("%s answered %d, %v: %s", args[1], status, err, body)
	}
}

func ask(r *http.Response, err error) (int, string, error) {
	if err != nil {
		return 0, "", err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	return r.StatusCode, string(body), err
}

// terminate sends SIGTERM to the background commands.
func terminate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: terminate")
	}
	for _, cmd := range ts.BackgroundCmds() {
		ts.Check(cmd.Process.Signal(syscall.SIGTERM))
	}
}
