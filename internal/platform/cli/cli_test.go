package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

func tool() *cobra.Command {
	var (
		shared Shared
		format string
		lines  int
	)
	load := &cobra.Command{
		Use: "load FILE", Short: "Load a file", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch args[0] {
			case "broken":
				return errors.New("load broken: no \x1b[31mroom")
			case "verdict":
				return Exit(11)
			case "coded":
				return fmt.Errorf("load: %w", &StatusError{Status: 40, Err: errors.New("edited")})
			}
			fmt.Fprintln(cmd.OutOrStdout(), args[0], shared.DataDir, shared.NATSURL, shared.TenantOrDefault(), shared.JSON, format, lines)
			return nil
		},
	}
	load.Flags().StringVar(&format, "format", "auto", "`format` of the file")
	load.Flags().IntVar(&lines, "max-lines", 5, "at most so many `lines`")
	load.Flags().Bool("strict", false, "take no other lines")
	load.Flags().Bool("lenient", true, "take other lines")
	load.MarkFlagsMutuallyExclusive("strict", "lenient")
	bare := &cobra.Command{Use: "bare", Short: "Take nothing", RunE: func(*cobra.Command, []string) error { return nil }}
	must := &cobra.Command{Use: "must", Short: "Need a flag", RunE: func(*cobra.Command, []string) error { return nil }}
	must.Flags().String("by", "", "who")
	if err := must.MarkFlagRequired("by"); err != nil {
		panic(err)
	}
	cmd := Group("tool", "A tool", load, bare, must)
	shared.Register(cmd)
	return cmd
}

func run(cmd *cobra.Command, args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	status = Execute(context.Background(), cmd, args)
	return status, out.String(), errs.String()
}

func TestExecute(t *testing.T) {
	tests := []struct {
		name   string
		args   string
		status int
		stderr string
	}{
		{"Fine", "load f", ExitOK, ""},
		{"Failure", "load broken", ExitError, "tool load: load broken: no \\x1b[31mroom\n"},
		{"VerdictPrintsNothing", "load verdict", 11, ""},
		{"WrappedStatus", "load coded", 40, "tool load: load: edited\n"},
		{"UnknownFlag", "load --nope f", ExitUsage, "tool load: unknown flag: --nope\nSee 'tool load --help'.\n"},
		{"MissingArgument", "load", ExitUsage, "tool load: accepts 1 arg(s), received 0\nSee 'tool load --help'.\n"},
		{"ArgumentForNone", "bare x", ExitUsage, "tool bare: unexpected argument \"x\"\nSee 'tool bare --help'.\n"},
		{"BadValue", "load --max-lines x f", ExitUsage, "tool load: invalid argument \"x\" for \"--max-lines\" flag: strconv.ParseInt: parsing \"x\": invalid syntax\nSee 'tool load --help'.\n"},
		{"RequiredFlag", "must", ExitUsage, "tool must: required flag(s) \"by\" not set\nSee 'tool must --help'.\n"},
		{"UnknownCommand", "frobnicate", ExitUsage, "tool: unknown command \"frobnicate\"; want one of bare, load, must\nSee 'tool --help'.\n"},
		{"NearCommand", "laod", ExitUsage, "tool: unknown command \"laod\"; did you mean \"load\"?\nSee 'tool --help'.\n"},
		{"EmptyDataDir", "load f --data-dir=", ExitUsage, "tool load: --data-dir: empty, want a folder\nSee 'tool load --help'.\n"},
		{"HelpOnNothing", "help frobnicate", ExitUsage, "tool help: unknown command \"frobnicate\"; want one of bare, load, must\nSee 'tool help --help'.\n"},
		{"HelpOnArgument", "help load x", ExitOK, ""},
		{"HelpOnCommand", "help load", ExitOK, ""},
		{"HelpOnAll", "help", ExitOK, ""},
		{"Help", "load --help", ExitOK, ""},
		{"NoCommand", "", ExitOK, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, _, stderr := run(tool(), strings.Fields(tt.args)...)
			if status != tt.status {
				t.Errorf("got status %d, want %d", status, tt.status)
			}
			if diff := cmp.Diff(tt.stderr, stderr); diff != "" {
				t.Errorf("stderr (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExecute_Cancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cmd := &cobra.Command{Use: "wait", RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Context().Err() }}
	cmd.SetErr(&bytes.Buffer{})
	if got := Execute(ctx, cmd, nil); got != ExitError {
		t.Errorf("got status %d, want %d", got, ExitError)
	}
}

func TestFlags(t *testing.T) {
	tests := []struct {
		name string
		env  map[string]string
		args string
		want string
	}{
		{"Defaults", nil, "load f", "f /x/hooktrail  default false auto 5\n"},
		{
			"Environment",
			map[string]string{
				"HOOKTRAIL_DATA_DIR": "/d", "NATS_URL": "nats://n", "HOOKTRAIL_TENANT": "acme",
				"HOOKTRAIL_JSON": "true", "HOOKTRAIL_FORMAT": "codex", "HOOKTRAIL_MAX_LINES": "7",
			},
			"load f", "f /d nats://n acme true codex 7\n",
		},
		{"OwnNameFirst", map[string]string{"NATS_URL": "nats://n", "HOOKTRAIL_NATS_URL": "nats://own"}, "load f", "f /x/hooktrail nats://own default false auto 5\n"},
		{"FlagsWin", map[string]string{"HOOKTRAIL_DATA_DIR": "/d", "HOOKTRAIL_MAX_LINES": "7"}, "load f --data-dir /e --max-lines 9", "f /e  default false auto 9\n"},
		{"FlagsWinOverTheirOpposite", map[string]string{"HOOKTRAIL_STRICT": "true"}, "load f --lenient", "f /x/hooktrail  default false auto 5\n"},
		{"EmptyIsNone", map[string]string{"HOOKTRAIL_MAX_LINES": ""}, "load f", "f /x/hooktrail  default false auto 5\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("XDG_DATA_HOME", "/x")
			t.Setenv("NATS_URL", "")
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			status, stdout, stderr := run(tool(), strings.Fields(tt.args)...)
			if status != ExitOK {
				t.Fatalf("status %d: %s", status, stderr)
			}
			if diff := cmp.Diff(tt.want, stdout); diff != "" {
				t.Errorf("stdout (-want +got):\n%s", diff)
			}
		})
	}
}

// Credentials and a key exclude each other, and a flag has priority over a variable.
func TestFlags_Login(t *testing.T) {
	for _, tt := range []struct {
		name string
		env  map[string]string
		args string
		want Login
	}{
		{"Own", map[string]string{"HOOKTRAIL_NATS_CREDS": "a.creds", "NATS_CREDS": "b.creds"}, "", Login{Creds: "a.creds"}},
		{
			"NATS",
			map[string]string{"NATS_NKEY": "k", "NATS_CA": "ca", "NATS_CERT": "cert", "NATS_KEY": "key"},
			"",
			Login{NKey: "k", CA: "ca", Cert: "cert", Key: "key"},
		},
		{"Flag", map[string]string{"NATS_CREDS": "b.creds"}, "--nats-url u --nats-nkey k", Login{NKey: "k"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, name := range []string{"NATS_CREDS", "NATS_NKEY", "NATS_CA", "NATS_CERT", "NATS_KEY"} {
				t.Setenv(name, tt.env[name])
			}
			t.Setenv("HOOKTRAIL_NATS_CREDS", tt.env["HOOKTRAIL_NATS_CREDS"])
			var shared Shared
			cmd := &cobra.Command{Use: "tool", RunE: func(*cobra.Command, []string) error { return nil }}
			shared.Register(cmd)
			if status, _, stderr := run(cmd, strings.Fields(tt.args)...); status != ExitOK {
				t.Fatalf("status %d: %s", status, stderr)
			}
			if diff := cmp.Diff(tt.want, shared.Login); diff != "" {
				t.Errorf("login (-want +got):\n%s", diff)
			}
		})
	}
	t.Setenv("NATS_CREDS", "other-tools.creds") // not for the embedded broker
	if status, _, stderr := run(tool(), "load", "f"); status != ExitOK {
		t.Errorf("a variable for other tools: status %d, %s", status, stderr)
	}
	for _, tt := range []struct{ args, want string }{
		{"--nats-url u --nats-creds a --nats-nkey b", "nats-creds"},
		{"--nats-url u --nats-cert a", "nats-key"},
		{"--nats-nkey a", "--nats-url"}, // the embedded broker needs no login
		{"--auth maybe", `"maybe"`},
		{"--nats-timeout 0s", "--nats-timeout"},
	} {
		status, _, stderr := run(tool(), append([]string{"load", "f"}, strings.Fields(tt.args)...)...)
		if status != ExitUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: status %d, %s", tt.args, status, stderr)
		}
	}
}

func TestFlags_BadEnvironment(t *testing.T) {
	t.Setenv("HOOKTRAIL_MAX_LINES", "many")
	status, _, stderr := run(tool(), "load", "f")
	want := "tool load: environment variable HOOKTRAIL_MAX_LINES: value \"many\": strconv.ParseInt: parsing \"many\": invalid syntax\nSee 'tool load --help'.\n"
	if status != ExitUsage || stderr != want {
		t.Errorf("got status %d and %q, want %d and %q", status, stderr, ExitUsage, want)
	}
	if status, _, stderr = run(tool(), "load", "f", "--max-lines", "1"); status != ExitOK {
		t.Errorf("the flag did not win: status %d, %s", status, stderr)
	}
}

func TestHelp_NamesTheEnvironment(t *testing.T) {
	cmd := tool()
	_, _, _ = run(cmd, "bare")
	_, help, _ := run(cmd, "load", "--help")
	for _, want := range []string{"[HOOKTRAIL_MAX_LINES]", "[HOOKTRAIL_DATA_DIR]", "[HOOKTRAIL_NATS_URL or NATS_URL]"} {
		if strings.Count(help, want) != 1 {
			t.Errorf("want %s once in\n%s", want, help)
		}
	}
	if strings.Contains(help, "HOOKTRAIL_HELP") {
		t.Error("--help has no variable")
	}
}

func TestVersion(t *testing.T) {
	status, stdout, _ := run(tool(), "--version")
	if status != ExitOK || !strings.HasPrefix(stdout, "tool ") {
		t.Errorf("got status %d and %q", status, stdout)
	}
}

// A failed write to stdout is an error, but does not change a verdict.
func TestExecute_LostResult(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("this system has no disk that is always full: %v", err)
	}
	defer full.Close()
	for args, want := range map[string]int{"load f": ExitError, "load --help": ExitError, "load verdict": 11, "bare": ExitOK} {
		cmd := tool()
		var stderr bytes.Buffer
		cmd.SetOut(full)
		cmd.SetErr(&stderr)
		got := Execute(t.Context(), cmd, strings.Fields(args))
		if told := strings.Contains(stderr.String(), "print the result: "); got != want || told != (want == ExitError) {
			t.Errorf("%s: got status %d and %q, want %d", args, got, &stderr, want)
		}
	}
}
