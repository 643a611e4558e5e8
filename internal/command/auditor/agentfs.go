package auditor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/agentfs"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func agentfsCommand(shared *cli.Shared) *cobra.Command {
	return cli.Group("agentfs", "List the AgentFS files, and copy them for readers",
		agentfsListCommand(shared), agentfsExportCommand(shared))
}

type agentfsFile struct {
	ID    string `json:"id"` // id for AgentFS tools
	Agent string `json:"agent"`
	Part  int    `json:"part"`
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	Calls int64  `json:"calls"`           // rows of tool_calls, or -1 if unknown
	Own   int64  `json:"own"`             // rows among Calls that other tools wrote, or -1 if unknown
	Leaf  int64  `json:"leaf"`            // last leaf in the file, or -1
	Busy  bool   `json:"busy,omitempty"`  // another process has it open
	State string `json:"state,omitempty"` // why the file is unreadable
}

func agentfsListCommand(shared *cli.Shared) *cobra.Command {
	var run string
	cmd := &cobra.Command{
		Use:   "list [--run RUN]",
		Short: "List a tenant's AgentFS files",
		Long: `List the AgentFS files of a tenant with their contents and the ids that AgentFS
tools take. An agent gets another file after about 100,000 calls. One file has all
calls, values and files of a run, and --run finds it. A file that another process
has open is listed as in use, because its contents are unknown.`,
		Example: `  auditor agentfs list --tenant acme
  auditor agentfs list --run r-42 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := findRun(cmd, shared, "", &run); err != nil {
				return err
			}
			files, err := listFiles(cmd.Context(), auditor.AgentFSDir(shared.DataDir), shared.TenantOrDefault(), run)
			if err != nil {
				return err
			}
			if len(files) == 0 {
				r, err := openLedger(shared.DataDir, shared.TenantOrDefault(), "")
				if err == nil {
					err = r.Close()
				}
				if err == nil && run != "" {
					err = fmt.Errorf("tenant %q has no AgentFS file with run %q", shared.TenantOrDefault(), run)
				}
				if err != nil {
					return err
				}
			}
			return printFiles(cmd, shared, files)
		},
	}
	cmd.Flags().StringVar(&run, "run", "", "only the file of this `run`; "+startUsage)
	return cmd
}

func listFiles(ctx context.Context, dir, tenant, run string) ([]agentfsFile, error) {
	found, err := agentfs.List(dir, tenant)
	if err != nil {
		return nil, err
	}
	files := make([]agentfsFile, 0, len(found))
	for _, f := range found {
		entry := agentfsFile{
			ID: f.ID(), Agent: f.Agent, Part: f.Part, Path: filepath.Join(dir, f.Name), Bytes: f.Bytes, Calls: -1, Own: -1, Leaf: -1,
		}
		c, err := agentfs.Inspect(ctx, entry.Path, run)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		switch {
		case errors.Is(err, agentfs.ErrBusy):
			entry.Busy, entry.State = true, "in use"
		case err != nil:
			entry.State = err.Error()
		case run != "" && !c.HasRun:
			continue
		default:
			entry.Calls, entry.Own, entry.Leaf = c.Calls, c.Calls-c.Ours, c.Leaf
		}
		files = append(files, entry)
	}
	return files, nil
}

func printFiles(cmd *cobra.Command, shared *cli.Shared, files []agentfsFile) error {
	return cli.Print(cmd, shared, files, func(out io.Writer) {
		w := table(out)
		for _, f := range files {
			calls := "?"
			if f.Calls >= 0 {
				calls = strconv.FormatInt(f.Calls, 10)
			}
			fmt.Fprintf(w, "%s\t%s\tpart %d\t%s calls\t%d bytes\t%s\n", termtext.Printable(f.ID), termtext.Printable(f.Agent), f.Part, calls, f.Bytes,
				termtext.Printable(cmp.Or(f.State, f.Path)))
		}
		w.Flush()
	})
}

type agentfsExportFlags struct {
	purpose

	out string
}

func agentfsExportCommand(shared *cli.Shared) *cobra.Command {
	var x agentfsExportFlags
	cmd := &cobra.Command{
		Use:   "export [ID…] --out DIR",
		Short: "Copy AgentFS files for readers",
		Long: `Copy all AgentFS files of a tenant, or the files with the given ids, into a folder.
Only one process at a time can open an AgentFS file, so readers should use copies.
With --out .agentfs, AgentFS tools open the copies by id.

A copy is a single file that only its owner can read. The auditor neither updates
it nor erases from it. A file is not copied while it still contains erased payloads
or while another process has it open. Then the other files are copied, and the exit
status is 1.`,
		Example: `  auditor agentfs export --tenant acme --out .agentfs
  auditor agentfs export claude-code__default --out /tmp/copy --reason "quarterly review"`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, ids []string) error { return x.run(cmd, shared, ids) },
	}
	x.register(cmd.Flags())
	cmd.Flags().StringVar(&x.out, "out", "", "`folder` for the copies, created if missing")
	cli.OwnVariable(cmd, "out", "agentfs-out") // HOOKTRAIL_OUT is a file
	return cmd
}

func (x agentfsExportFlags) run(cmd *cobra.Command, shared *cli.Shared, ids []string) (err error) {
	if x.out == "" {
		return cli.Usage("--out is required: name a folder for the copies")
	}
	chosen, err := chooseFiles(auditor.AgentFSDir(shared.DataDir), shared.TenantOrDefault(), ids)
	if err != nil {
		return err
	}
	d := x.access(events.AuditExport, events.AuditSelection{})
	d.As = "agentfs"
	r, err := openRecorded(cmd, shared, "", d)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := os.MkdirAll(x.out, 0o700); err != nil {
		return fmt.Errorf("create folder: %w", err)
	}
	copies := make([]agentfsFile, 0, len(chosen))
	var errs []error
	for _, f := range chosen {
		c, err := copyFile(cmd.Context(), f, auditor.AgentFSDir(shared.DataDir), x.out, r)
		if ctxErr := cmd.Context().Err(); ctxErr != nil {
			return ctxErr
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		copies = append(copies, c)
	}
	return errors.Join(append(errs, printFiles(cmd, shared, copies))...)
}

func copyFile(ctx context.Context, f agentfs.File, dir, out string, r *ledger.Reader) (agentfsFile, error) {
	path := filepath.Join(out, f.Name)
	if err := agentfs.Copy(ctx, filepath.Join(dir, f.Name), path, auditor.AgentFSSource(r)); err != nil {
		return agentfsFile{}, err
	}
	c, err := agentfs.Inspect(ctx, path, "")
	if err != nil {
		return agentfsFile{}, fmt.Errorf("read the copy: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return agentfsFile{}, err
	}
	return agentfsFile{
		ID: f.ID(), Agent: f.Agent, Part: f.Part, Path: path, Bytes: info.Size(), Calls: c.Calls, Own: c.Calls - c.Ours, Leaf: c.Leaf,
	}, nil
}

func chooseFiles(dir, tenant string, ids []string) ([]agentfs.File, error) {
	files, err := agentfs.List(dir, tenant)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("tenant %q has no AgentFS file in %s", tenant, dir)
	}
	if len(ids) == 0 {
		return files, nil
	}
	byID := make(map[string]agentfs.File, len(files))
	for _, f := range files {
		byID[f.ID()] = f
	}
	chosen := make([]agentfs.File, 0, len(ids))
	for _, id := range ids {
		f, ok := byID[id]
		if !ok {
			return nil, fmt.Errorf("tenant %[2]q has no AgentFS file %[1]q: see auditor agentfs list", id, tenant)
		}
		if !slices.Contains(chosen, f) {
			chosen = append(chosen, f)
		}
	}
	return chosen, nil
}
