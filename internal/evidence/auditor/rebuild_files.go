package auditor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/agentfs"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

func (r *rebuilding) agentFiles(ctx context.Context, source string) (err error) {
	tenants, err := Options{DataDir: source, Tenant: r.Tenant}.tenants()
	if err != nil {
		return err
	}
	dir := AgentFSDir(r.staging.fresh())
	if err := makeDir(dir); err != nil {
		return err
	}
	writer := agentfs.Open(dir, agentfs.Options{Interval: time.Nanosecond, Logger: r.Logger})
	defer func() { err = errors.Join(err, writer.Close()) }()
	for i, tenant := range tenants {
		r.Progress("agentfs", uint64(i), uint64(len(tenants)))
		kept, err := r.foreign(ctx, tenant)
		if err != nil {
			return err
		}
		files := &fileSync{dataDir: source, writer: writer, logger: r.Logger}
		if err := errors.Join(files.tenant(ctx, tenant), writer.Close()); err != nil {
			return err
		}
		if err := r.replaceFiles(tenant); err != nil {
			return err
		}
		if err := r.note(ctx, source, tenant, kept); err != nil {
			return err
		}
	}
	r.Progress("agentfs", uint64(len(tenants)), uint64(len(tenants)))
	return nil
}

func (r *rebuilding) foreign(ctx context.Context, tenant string) (kept []string, err error) {
	files, err := agentfs.List(AgentFSDir(r.DataDir), tenant)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		ok, mark, err := agentfs.Foreign(ctx, filepath.Join(AgentFSDir(r.DataDir), f.Name), filepath.Join(AgentFSDir(r.staging.fresh()), f.Name))
		if err != nil {
			return nil, err
		}
		r.marks[f.Name] = mark
		if ok {
			kept = append(kept, f.Name)
		}
	}
	return kept, nil
}

func (r *rebuilding) unwritten(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(r.marks)) {
		if err := agentfs.Unchanged(ctx, filepath.Join(AgentFSDir(r.DataDir), name), r.marks[name]); err != nil {
			return fmt.Errorf("%w: nothing was replaced; rebuild again while no tool has the file open", err)
		}
	}
	return nil
}

func (r *rebuilding) replaceFiles(tenant string) error {
	made, err := agentfs.List(AgentFSDir(r.staging.fresh()), tenant)
	if err != nil {
		return err
	}
	have := make(map[string]bool)
	for _, f := range made {
		have[f.Name] = true
		if err := r.staging.add(filepath.Join("agentfs", f.Name)); err != nil {
			return err
		}
	}
	old, err := agentfs.List(AgentFSDir(r.DataDir), tenant)
	if err != nil {
		return err
	}
	for _, f := range old {
		// A file without a mark was created by another tool during the rebuild, so the file stays.
		if _, known := r.marks[f.Name]; known && !have[f.Name] {
			r.staging.drop(filepath.Join("agentfs", f.Name))
		}
	}
	return r.staging.add(filepath.Join("agentfs", agentfs.Routes(tenant)))
}

func (r *rebuilding) note(ctx context.Context, source, tenant string, kept []string) (err error) {
	for i := range r.done {
		if r.done[i].Tenant == tenant {
			r.done[i].Kept = kept
			return nil
		}
	}
	l, err := ledger.OpenTenant(LedgerDir(source), tenant)
	if err != nil {
		return err
	}
	c, err := l.Newest(ctx)
	r.done = append(r.done, Rebuilt{Tenant: tenant, Leaves: c.Size, Root: c.Root.String(), Checkpoint: c.Time, Kept: kept})
	return errors.Join(err, l.Close())
}
