package publisher

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/capture/install"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/pkg/hooks/hookfile"
)

// installFlags are the flags of publisher install.
type installFlags struct {
	project   string
	dryRun    bool
	uninstall bool
	hook      hookclient.Flags // passed on
}

func installCommand(shared *cli.Shared) *cobra.Command {
	var flags installFlags
	cmd := &cobra.Command{
		Use:   "install TOOL",
		Short: "Have an agent report to Hooktrail",
		Long: "install adds publisher hook to an agent's own configuration: for all of the user's projects, or with\n" +
			"--project for one. TOOL is one of " + strings.Join(install.Names(), ", ") + ".\n" +
			"It shows what it changes, as a diff, and keeps everything else as it is. --uninstall takes the\n" +
			"hooks out again. A file that it cannot read is left alone.",
		Example: "  publisher install claude-code --project .\n" +
			"  publisher install codex --hooks ~/hooks.yaml --dry-run\n" +
			"  publisher install gemini-cli --uninstall",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runInstall(cmd, shared, &flags, args[0])
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.project, "project", "", "`folder` of the project whose agents report; without it all of yours do")
	f.BoolVar(&flags.dryRun, "dry-run", false, "show the change, and write nothing")
	f.BoolVar(&flags.uninstall, "uninstall", false, "take the hooks out again")
	flags.hook.Register(cmd)
	return cmd
}

// validate reports the first flag that a hook command could do nothing with: there
// only the agent would see it.
func (f *installFlags) validate() error {
	if f.uninstall {
		return nil
	}
	if err := f.hook.Validate(); err != nil {
		return cli.Usage("%w", err)
	}
	if f.hook.Hooks == "" {
		return nil
	}
	_, err := hookfile.Load(f.hook.Hooks)
	return err
}

// installed is what install prints with --json.
type installed struct {
	Tool    string         `json:"tool"`
	File    string         `json:"file"`
	Action  install.Action `json:"action"`
	DryRun  bool           `json:"dry_run,omitempty"`
	Command string         `json:"command,omitempty"`
	Diff    string         `json:"diff,omitempty"`
	Note    string         `json:"note,omitempty"`
}

func runInstall(cmd *cobra.Command, shared *cli.Shared, flags *installFlags, tool string) error {
	home, err := os.UserHomeDir()
	if err != nil && flags.project == "" {
		return fmt.Errorf("find your home folder: %w; --project needs none", err)
	}
	if err := flags.validate(); err != nil {
		return err
	}
	passed, err := passedOn(cmd, shared, flags)
	if err != nil {
		return err
	}
	program, err := programName()
	if err != nil {
		return err
	}
	if self, err := os.Executable(); err == nil && !flags.uninstall && isGoRun(self) {
		return errors.New("this program was made by go run, which removes it afterwards: build it where it can stay " +
			"(go build -o DIR ./cmd/publisher), and install with that")
	}
	opts := install.Options{
		Project: flags.project, Home: home, Program: program, Flags: passed,
		Timeout: flags.hook.Timeout + 5*time.Second, Uninstall: flags.uninstall, Getenv: os.Getenv,
	}
	change, err := install.Plan(tool, opts)
	if err != nil {
		return err
	}
	if !flags.dryRun {
		if err := change.Apply(); err != nil {
			return err
		}
	}
	return printInstalled(cmd, shared.JSON, installed{
		Tool: change.Tool, File: change.File, Action: change.Action(), DryRun: flags.dryRun, Diff: change.Diff(), Note: change.Note,
	})
}

func printInstalled(cmd *cobra.Command, asJSON bool, i installed) error {
	if asJSON {
		return cli.PrintJSON(cmd, i)
	}
	out := cmd.OutOrStdout()
	fmt.Fprint(out, cli.Printable(i.Diff))
	said := string(i.Action)
	if i.DryRun && i.Action != install.Unchanged {
		said = "not written: --dry-run"
	}
	fmt.Fprintf(out, "%s: %s\n", cli.Printable(i.File), said)
	if i.Note != "" && i.Action != install.Unchanged {
		fmt.Fprintln(out, i.Note)
	}
	return nil
}

// passedOn returns the flags of the hook command: those that were given, files
// and folders by their full names because agents start it anywhere.
func passedOn(cmd *cobra.Command, shared *cli.Shared, flags *installFlags) (string, error) {
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
		if !cmd.Flags().Changed(f.name) || f.value == "" {
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
	if flags.hook.Redaction.Redactor() != nil {
		args = append(args, "--no-redact")
	}
	return cli.ShellQuote(args...), nil
}

// programName returns what agents start: the bare name if they find this program
// by it, else the full path.
func programName() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	name := filepath.Base(self)
	if found, err := exec.LookPath(name); err == nil && sameFile(found, self) {
		return name, nil
	}
	return cli.ShellQuote(self), nil
}

// isGoRun tells whether path is a program that go run has made, as in
// /tmp/go-build15/b001/exe/publisher, or in its cache, …/go-build/5f/5f01…-d/publisher.
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
