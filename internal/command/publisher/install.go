package publisher

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/capture/install"
	"github.com/hooktrail/hooktrail/internal/command/capture"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/hooks/hookfile"
)

type installFlags struct {
	project   string
	dryRun    bool
	uninstall bool
	trust     bool
	status    bool
	hook      capture.Flags // to write into the hook command
}

func installCommand(shared *cli.Shared) *cobra.Command {
	var flags installFlags
	cmd := &cobra.Command{
		Use:   "install [TOOL]",
		Short: "Make an agent report to Hooktrail",
		Long: "install adds publisher hook to the configuration of an agent, for all projects of the user or, with\n" +
			"--project, for one. TOOL is one of " + strings.Join(install.Names(), ", ") + ".\n" +
			"It prints the change as a diff, and changes nothing else. --uninstall removes the hooks again.\n" +
			"install does not touch a file that it cannot read.\n\n" +
			"Codex runs hooks that you trust, and Codex, Copilot CLI and Gemini CLI run the hooks of a project\n" +
			"that you trust. --trust writes this trust into the agent's own files. Claude Code asks about a\n" +
			"project when you first open it.\n\n" +
			"--status runs the installed hook command with a canary call, as the agent would. It shows whether\n" +
			"the event is recorded and the call is denied, and whether the agent trusts the hooks. Without TOOL\n" +
			"it checks all agents. The exit status is 1 if hooks do not work.",
		Example: "  publisher install claude-code --project .\n" +
			"  publisher install codex --hooks ~/hooks.yaml --dry-run\n" +
			"  publisher install gemini-cli --uninstall\n" +
			"  publisher install codex --trust\n" +
			"  publisher install --status",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: shared.Argument(cli.Words(install.Names()...)),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case flags.status:
				return runStatus(cmd, shared, &flags, args)
			case len(args) == 0:
				return cli.Usage("no agent is named; there are %s", strings.Join(install.Names(), ", "))
			}
			return runInstall(cmd, shared, &flags, args[0])
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.project, "project", "", "`folder` of one project; without it the agents of all your projects report")
	f.BoolVar(&flags.dryRun, "dry-run", false, "print the change without writing it")
	f.BoolVar(&flags.uninstall, "uninstall", false, "remove the hooks again")
	f.BoolVar(&flags.trust, "trust", false, "let the agent run the hooks without asking, where it has a file for that")
	f.BoolVar(&flags.status, "status", false, "check installed hooks with a canary call")
	cli.LineOnly(cmd, "status") // HOOKTRAIL_STATUS is of tracker list
	cmd.MarkFlagsMutuallyExclusive("status", "uninstall")
	cmd.MarkFlagsMutuallyExclusive("status", "trust")
	flags.hook.Register(cmd.Flags())
	return cmd
}

func (f *installFlags) validate(cmd *cobra.Command, shared *cli.Shared) error {
	if f.uninstall {
		return nil
	}
	if err := f.hook.Validate(); err != nil {
		return cli.Usage("%w", err)
	}
	if f.hook.Hooks == "" {
		return nil
	}
	file, err := hookfile.Load(f.hook.Hooks)
	if err != nil {
		return err
	}
	warn(cmd.Context(), shared.Logger(cmd), file)
	return file.CheckPrograms()
}

type installed struct {
	Tool    string         `json:"tool"`
	File    string         `json:"file"`
	Action  install.Action `json:"action"`
	DryRun  bool           `json:"dry_run,omitempty"`
	Command string         `json:"command,omitempty"`
	Diff    string         `json:"diff,omitempty"`
	Note    string         `json:"note,omitempty"`
	Trust   []installed    `json:"trust,omitempty"` // changes of the agent's own files
}

func runInstall(cmd *cobra.Command, shared *cli.Shared, flags *installFlags, tool string) error {
	if err := flags.validate(cmd, shared); err != nil {
		return err
	}
	opts, err := installOptions(flags)
	if err != nil {
		return err
	}
	if opts.Flags, err = hookArgs(cmd, shared, flags); err != nil {
		return err
	}
	if self, err := os.Executable(); err == nil && !flags.uninstall && isGoRun(self) {
		return errors.New("go run built this program and will remove it; " +
			"build it in a permanent folder (go build -o DIR ./cmd/publisher) and install with that")
	}
	changes, err := planInstall(tool, opts, flags.trust || flags.uninstall)
	if err != nil {
		return err
	}
	all, err := applied(changes, flags.dryRun)
	if err != nil {
		return err
	}
	all[0].Trust = all[1:]
	if flags.trust {
		all[0].Note = ""
	}
	return printInstalled(cmd, shared, all[0])
}

func applied(changes []*install.Change, dryRun bool) ([]installed, error) {
	all := make([]installed, len(changes))
	for i, c := range changes {
		if !dryRun {
			if err := c.Apply(); err != nil {
				return nil, err
			}
		}
		all[i] = installed{Tool: c.Tool, File: c.File, Action: c.Action(), DryRun: dryRun, Diff: c.Diff(), Note: c.Note}
	}
	return all, nil
}

func installOptions(flags *installFlags) (install.Options, error) {
	home, err := os.UserHomeDir()
	if err != nil && flags.project == "" {
		return install.Options{}, fmt.Errorf("find your home folder: %w; --project needs none", err)
	}
	program, hook, err := programNames()
	if flags.hook.Hooks != "" || strings.HasPrefix(flags.hook.Publisher, "http") {
		hook = "" // hooktrail-hook would only run publisher hook
	}
	return install.Options{
		Project: flags.project, Home: home, Program: program, Hook: hook,
		Timeout: flags.hook.Timeout + 5*time.Second, Uninstall: flags.uninstall, Getenv: os.Getenv,
	}, err
}

func planInstall(tool string, opts install.Options, withTrust bool) ([]*install.Change, error) {
	change, err := install.Plan(tool, opts)
	if err != nil {
		return nil, err
	}
	if !withTrust {
		return []*install.Change{change}, nil
	}
	trust, err := install.PlanTrust(change, opts)
	if err != nil && !opts.Uninstall { // an uninstall leaves trust in hooks that no longer exist
		return nil, err
	}
	changes := []*install.Change{change}
	for _, c := range trust {
		if !opts.Uninstall || c.Action() != install.Unchanged {
			changes = append(changes, c)
		}
	}
	return changes, nil
}

func printInstalled(cmd *cobra.Command, shared *cli.Shared, i installed) error {
	return cli.Print(cmd, shared, i, func(out io.Writer) {
		for _, i := range append([]installed{i}, i.Trust...) {
			fmt.Fprint(out, termtext.Printable(i.Diff))
			state := string(i.Action)
			if i.DryRun && i.Action != install.Unchanged {
				state = "not written: --dry-run"
			}
			fmt.Fprintf(out, "%s: %s\n", termtext.Printable(i.File), state)
		}
		if i.Note != "" && i.Action != install.Unchanged {
			fmt.Fprintln(out, i.Note)
		}
	})
}

func hookArgs(cmd *cobra.Command, shared *cli.Shared, flags *installFlags) (string, error) {
	var args []string
	for _, f := range []struct {
		name, value string
		path        bool
	}{
		{"hooks", flags.hook.Hooks, true},
		{"data-dir", shared.DataDir, true},
		{"tenant", shared.Tenant, false},
		{"publisher", flags.hook.Publisher, false},
		{"timeout", flags.hook.Timeout.String(), false},
	} {
		isFixed := f.name == "data-dir" && flags.project == "" // other users may share the settings of a project
		if !isFixed && !cmd.Flags().Changed(f.name) || f.value == "" {
			continue
		}
		if f.path {
			full, err := filepath.Abs(f.value)
			if err != nil {
				return "", fmt.Errorf("--%s: %w", f.name, err)
			}
			f.value = full
		}
		args = append(args, "--"+f.name, f.value)
	}
	if flags.hook.FailClosed {
		args = append(args, "--fail-closed")
	}
	if flags.hook.NoRedact {
		args = append(args, "--no-redact")
	}
	return termtext.ShellQuote(args...), nil
}

func programNames() (program, hook string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", "", fmt.Errorf("find this program: %w", err)
	}
	if beside, err := exec.LookPath(filepath.Join(filepath.Dir(self), capture.HookProgram)); err == nil {
		hook = commandOf(beside)
	}
	return commandOf(self), hook, nil
}

func commandOf(path string) string {
	name := filepath.Base(path)
	if found, err := exec.LookPath(name); err == nil && sameFile(found, path) {
		return name
	}
	return termtext.ShellQuote(path)
}

// isGoRun recognises a temporary program of go run, such as /tmp/go-build15/b001/exe/publisher or
// …/go-build/5f/5f01…-d/publisher.
func isGoRun(path string) bool {
	dir := filepath.Dir(path)
	made := filepath.Base(dir) == "exe" || strings.HasSuffix(dir, "-d")
	return made && strings.Contains(filepath.ToSlash(dir), "/go-build")
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
