package publisher

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/capture/install"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
)

type hookStatus struct {
	install.Status
	Works bool `json:"works"`
}

func runStatus(cmd *cobra.Command, shared *cli.Shared, flags *installFlags, args []string) error {
	opts, err := installOptions(flags)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(flags.project)
	if err != nil {
		return fmt.Errorf("--project: %w", err)
	}
	all, err := checkAll(cmd.Context(), opts, dir, args)
	if err != nil {
		return err
	}
	err = cli.Print(cmd, shared, all, func(out io.Writer) {
		for i := range all {
			printStatus(out, &all[i])
		}
		if len(all) == 0 {
			fmt.Fprintln(out, "No agent has hooks. Add them with publisher install TOOL.")
		}
	})
	if err == nil && slices.ContainsFunc(all, func(s hookStatus) bool { return !s.Works }) {
		return cli.Exit(cli.ExitError)
	}
	return err
}

func checkAll(ctx context.Context, opts install.Options, dir string, names []string) ([]hookStatus, error) {
	named := len(names) > 0
	if !named {
		names = install.Names()
	}
	all := []hookStatus{}
	for _, name := range names {
		s, err := install.Check(ctx, name, opts, dir)
		if err != nil && named {
			return nil, err
		}
		if err != nil {
			s.Tool, s.Problem = name, err.Error()
		}
		if named || s.Installed || err != nil {
			all = append(all, hookStatus{s, s.Works()})
		}
	}
	return all, nil
}

func printStatus(out io.Writer, s *hookStatus) {
	say := func(format string, args ...any) {
		fmt.Fprintf(out, "  %s\n", termtext.Printable(fmt.Sprintf(format, args...)))
	}
	fmt.Fprintf(out, "%s: %s\n", s.Tool, termtext.Printable(s.File))
	if !s.Installed {
		say("hooks      not installed %s", s.Problem)
		return
	}
	if s.Program != "" {
		say("program    %s", s.Program)
	}
	say("hook       %s", map[bool]string{true: "denied the canary call", false: "did not deny the canary call"}[s.Denied])
	say("event      %s", map[bool]string{true: "recorded", false: "not recorded"}[s.Recorded])
	if s.Reason != "" {
		say("answer     %s", s.Reason)
	}
	if s.Problem != "" {
		say("problem    %s", s.Problem)
	}
	if s.Outdated {
		say("outdated   repeat publisher install %s with the same flags", s.Tool)
	}
	switch s.Trust {
	case install.NotTrusted:
		say("trust      %s does not run these hooks until they are trusted (%s). Repeat publisher install with --trust.", s.Tool, s.TrustFile)
	case install.TrustUnknown:
		say("trust      unknown: %s", s.TrustFile)
	case install.TrustAsked:
		say("trust      %s asks about the folder when a person first opens it, and runs these hooks after that", s.Tool)
	case install.Trusted, install.TrustNotNeeded:
		say("trust      %s", s.Trust)
	}
}
