package hooktrail

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hooktrail/hooktrail/internal/command/auditor"
	"github.com/hooktrail/hooktrail/internal/command/metrics"
	"github.com/hooktrail/hooktrail/internal/command/publisher"
	"github.com/hooktrail/hooktrail/internal/command/tracker"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

func commands() map[string]func() *cobra.Command {
	return map[string]func() *cobra.Command{
		"hooktrail": Command, "publisher": publisher.Command, "auditor": auditor.Command,
		"tracker": tracker.Command, "metrics": metrics.Command,
	}
}

func leaves(root *cobra.Command) []*cobra.Command {
	if !root.HasSubCommands() {
		return []*cobra.Command{root}
	}
	var all []*cobra.Command
	for _, c := range root.Commands() {
		all = append(all, leaves(c)...)
	}
	return all
}

func execute(root *cobra.Command, args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&errs)
	status = cli.Execute(context.Background(), root, args)
	return status, out.String(), errs.String()
}

// Every command has help, an example, the shared flags and usage errors.
func TestCommands(t *testing.T) {
	for name, command := range commands() {
		for _, leaf := range leaves(command()) {
			path := strings.Fields(leaf.CommandPath())
			t.Run(leaf.CommandPath(), func(t *testing.T) {
				if path[0] != name {
					t.Errorf("got root %s, want %s", path[0], name)
				}
				if s := leaf.Short; s == "" || !unicode.IsUpper(rune(s[0])) || strings.HasSuffix(s, ".") {
					t.Errorf("got short help %q: want a sentence without its point", s)
				}
				if !strings.Contains(leaf.Example, leaf.CommandPath()) {
					t.Errorf("the example does not call the command:\n%s", leaf.Example)
				}
				for _, flag := range []string{"json", "data-dir", "nats-url", "tenant"} {
					if leaf.InheritedFlags().Lookup(flag) == nil {
						t.Errorf("--%s is missing", flag)
					}
				}
				args := path[1:]
				status, stdout, _ := execute(command(), append(slices.Clone(args), "--help")...)
				if status != cli.ExitOK || !strings.Contains(stdout, "Examples:") {
					t.Errorf("--help: status %d, %q", status, stdout)
				}
				want := cli.ExitUsage
				if leaf.CommandPath() == "publisher hook" { // agents would take it for a denial
					want = cli.ExitOK
				}
				status, _, stderr := execute(command(), append(slices.Clone(args), "--data-dir", t.TempDir(), "--no-such-flag")...)
				if status != want || !strings.Contains(stderr, "--help") {
					t.Errorf("unknown flag: status %d, %q", status, stderr)
				}
				leaf.Flags().VisitAll(func(f *pflag.Flag) {
					if !strings.Contains(stdout, "["+cli.VariableOf(f)) && !strings.Contains(f.Usage, cli.VariableOf(f)) && cli.HasVariable(f) {
						t.Errorf("help does not name the variable of --%s", f.Name)
					}
				})
			})
		}
		if example := command().Example; !strings.Contains(example, name+" ") {
			t.Errorf("the example of %s does not call it:\n%s", name, example)
		}
		if status, _, stderr := execute(command(), "no-such-command"); status != cli.ExitUsage {
			t.Errorf("%s no-such-command: status %d, %q", name, status, stderr)
		}
	}
}

// A variable has the same kind of value for all commands, so that it can be set for all of them.
func TestVariables_OneMeaning(t *testing.T) {
	kinds := map[string]string{}
	for _, command := range commands() {
		for _, leaf := range leaves(command()) {
			leaf.Flags().VisitAll(func(f *pflag.Flag) {
				kind, _ := pflag.UnquoteUsage(f)
				kind = f.Value.Type() + " " + kind
				switch variable := cli.VariableOf(f); {
				case !cli.HasVariable(f):
				case kinds[variable] == "":
					kinds[variable] = kind
				case kinds[variable] != kind:
					t.Errorf("%s --%s: %s is %s here, and %s elsewhere", leaf.CommandPath(), f.Name, variable, kind, kinds[variable])
				}
			})
		}
	}
}

// A variable that another command uses differently does not stop the demo. The former variable counts if the value fits, and a warning names the new one.
func TestVariables_Former(t *testing.T) {
	for value, want := range map[string]string{"30d": "false", "true": "true"} {
		t.Setenv("HOOKTRAIL_KEEP", value)
		demo, _, err := Command().Find([]string{"demo"})
		if err != nil {
			t.Fatal(err)
		}
		var errs bytes.Buffer
		demo.SetErr(&errs)
		if err := cli.FromEnvironment(demo); err != nil || demo.Flag("keep").Value.String() != want {
			t.Errorf("HOOKTRAIL_KEEP=%s: --keep is %s, %v", value, demo.Flag("keep").Value, err)
		}
		if warned := strings.Contains(errs.String(), "HOOKTRAIL_DEMO_KEEP"); warned != (want == "true") {
			t.Errorf("HOOKTRAIL_KEEP=%s: %s", value, &errs)
		}
	}
}

// foreignFlags is a document with flags of other programs.
const foreignFlags = "docs/hooks-policies.md"

// The flags and variables in the documents exist.
func TestDocs_Flags(t *testing.T) {
	known, own := map[string]bool{"help": true}, []string{}
	for _, command := range commands() {
		for _, leaf := range leaves(command()) {
			leaf.Flags().VisitAll(func(f *pflag.Flag) { known[f.Name], own = true, append(own, cli.VariableOf(f)) })
			leaf.InheritedFlags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
		}
	}
	variables := map[string]bool{
		"HOOKTRAIL_TEST_REQUIRE": true, "HOOKTRAIL_DATA": true, "HOOKTRAIL_TOKEN": true, "HOOKTRAIL_": true,
		"HOOKTRAIL_GAUNTLET_SEED": true, "HOOKTRAIL_GAUNTLET_EVENTS": true, "HOOKTRAIL_TEST_BD": true, "HOOKTRAIL_TEST_AGENTS": true,
	}
	for flag := range known {
		variables[cli.EnvName(flag)] = true
	}
	for _, variable := range own {
		variables[variable] = true
	}
	streams := []string{"HOOKTRAIL_EV", "HOOKTRAIL_DLQ", "HOOKTRAIL_ADV", "HOOKTRAIL_CHECKPOINTS"}
	flag := regexp.MustCompile("[ `(]--([a-z][a-z-]+)")
	git := regexp.MustCompile("(?m)\\bgit [^`\n]*|^(nats|docker|curl) [^`\n]*") // flags of other programs
	variable := regexp.MustCompile(`\bHOOKTRAIL_[A-Z_]*`)
	for _, name := range documents(t) {
		doc := git.ReplaceAllString(readDoc(t, name), "git")
		for _, m := range flag.FindAllStringSubmatch(doc, -1) {
			if !known[m[1]] && name != foreignFlags {
				t.Errorf("%s: no command has --%s", name, m[1])
			}
		}
		for _, v := range variable.FindAllString(doc, -1) {
			if !variables[v] && !slices.Contains(streams, v) {
				t.Errorf("%s: nothing reads %s", name, v)
			}
		}
	}
}
