package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/buildinfo"
)

func prepare(root *cobra.Command) {
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.CompletionOptions.HiddenDefaultCmd = true
	root.Version = buildinfo.Version()
	root.SetVersionTemplate("{{.DisplayName}} {{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return Usage("%w", err) })
	describeEnv(root.PersistentFlags())
	eachCommand(root, func(cmd *cobra.Command) {
		describeEnv(cmd.Flags())
		cmd.Args = usageArgs(cmd)
		if cmd.HasSubCommands() && !cmd.Runnable() {
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	})
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "help" && cmd.Run != nil {
			refuseUnknown(cmd)
		}
	}
}

func refuseUnknown(help *cobra.Command) {
	show := help.Run
	help.Args, help.Run = cobra.ArbitraryArgs, nil
	help.RunE = func(cmd *cobra.Command, args []string) error {
		if about, rest, err := cmd.Root().Find(args); err == nil && about.HasSubCommands() && len(rest) > 0 {
			return Usage("%w", unknownCommand(about, rest))
		}
		show(cmd, args)
		return nil
	}
}

func eachCommand(root *cobra.Command, do func(*cobra.Command)) {
	do(root)
	for _, cmd := range root.Commands() {
		eachCommand(cmd, do)
	}
}

func usageArgs(cmd *cobra.Command) cobra.PositionalArgs {
	validate := cmd.Args
	if validate == nil {
		validate = noArgs
	}
	if cmd.HasSubCommands() && !cmd.Runnable() {
		validate = unknownCommand
	}
	return func(cmd *cobra.Command, args []string) error {
		if err := validate(cmd, args); err != nil {
			return Usage("%w", err)
		}
		return nil
	}
}

func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q", args[0])
	}
	return nil
}

func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("unknown command %q; did you mean %q?", args[0], near[0])
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return fmt.Errorf("unknown command %q; want one of %s", args[0], strings.Join(names, ", "))
}
