package provider_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/provider"
)

func open(t *testing.T, file string) *provider.Budget {
	t.Helper()
	b, err := provider.NewBudget(provider.BudgetOptions{Limit: 100, Prices: table, File: file})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func spent(t *testing.T, b *provider.Budget, want float64) {
	t.Helper()
	if got, err := b.Spent(); err != nil || math.Abs(got-want) > 1e-9 {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func TestBudget_SpendSurvivesARestart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "spent.json")
	b := open(t, file)
	if err := b.Spend(t.Context(), "claude-haiku-4.5", events.Tokens{Input: 2e6}); err != nil {
		t.Fatal(err)
	}
	spent(t, open(t, file), 2)
	names, err := filepath.Glob(filepath.Join(filepath.Dir(file), ".*"))
	if err != nil || len(names) != 0 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

func TestBudget_SharedByProcesses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "spent.json")
	var wg sync.WaitGroup
	const budgets, times = 8, 10
	for range budgets {
		b := open(t, file)
		wg.Go(func() {
			for range times {
				if err := b.Spend(t.Context(), "claude-haiku-4.5", events.Tokens{Input: 1e5}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	spent(t, open(t, file), budgets*times*0.1)
}

func TestBudget_WhatCannotBeWrittenStillCounts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b := open(t, filepath.Join(dir, "spent.json"))
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	one := events.Tokens{Input: 1e6}
	if err := b.Spend(t.Context(), "claude-haiku-4.5", one); err == nil {
		t.Error("no error")
	}
	spent(t, b, 1)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := b.Spend(t.Context(), "claude-haiku-4.5", one); err != nil {
		t.Error(err)
	}
	spent(t, b, 2)
	spent(t, open(t, filepath.Join(dir, "spent.json")), 2)
}

func TestBudget_DamagedFile(t *testing.T) {
	for _, text := range []string{"", "{", "[]", "null", `{"spent":-1,"models":{}}`, `{"spent":3}`} {
		file := filepath.Join(t.TempDir(), "spent.json")
		b := open(t, file)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := provider.NewBudget(provider.BudgetOptions{Limit: 1, Prices: table, File: file}); err == nil {
			t.Errorf("%q: no error", text)
		}
		if err := b.Spend(t.Context(), "claude-haiku-4.5", events.Tokens{Input: 1}); err == nil {
			t.Errorf("%q: overwritten", text)
		}
		err := use(t, hooks.Meta{}, b).Subagent(t.Context(), hooks.Subagent{}, func(context.Context, hooks.SubagentOutcome) error { return nil })
		if !errors.Is(err, hooks.ErrDenied) {
			t.Errorf("%q: a sub-agent started: %v", text, err)
		}
	}
}

func TestBudget_LockedForGood(t *testing.T) {
	file := filepath.Join(t.TempDir(), "spent.json")
	b := open(t, file)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	held := holdLock(t, file+".lock")
	if err := b.Spend(ctx, "claude-haiku-4.5", events.Tokens{Input: 1e6}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	held()
	spent(t, b, 1)
}

func TestBudget_Prices(t *testing.T) {
	b, err := provider.NewBudget(provider.BudgetOptions{Limit: 1, Prices: map[string]provider.Price{
		"opus*": {Input: 15, Output: 75, CacheRead: 1.5}, "opus-mini": {Input: 1, Output: 2}, "opus-mi*": {Input: 3, Output: 4},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for _, tt := range []struct {
		model string
		used  events.Tokens
		cost  float64
	}{
		{"opus-mini", events.Tokens{Input: 1e6, Output: 1e6}, 3},
		{"opus-mix", events.Tokens{Input: 1e6, Output: 1e6}, 7},
		{"opus-9", events.Tokens{Input: 1e6, Output: 1e6, CacheRead: 1e6, CacheCreation: 1e6}, 106.5},
		{"unknown", events.Tokens{Input: 1e6, Output: 1e6}, 90},
		{"unknown", events.Tokens{Input: -1e6}, 0},
	} {
		if err := b.Spend(t.Context(), tt.model, tt.used); err != nil {
			t.Fatal(err)
		}
		want += tt.cost
		spent(t, b, want)
	}
	if err := b.SubagentStop(t.Context(), hooks.Meta{}, events.SubagentStoppedData{Model: "opus-mini", TotalTokens: 1e6}); err != nil {
		t.Error(err)
	}
	spent(t, b, want+2)
}

func TestNewBudget_Refuses(t *testing.T) {
	for name, opts := range map[string]provider.BudgetOptions{
		"limit":              {Prices: table},
		"limit NaN":          {Prices: table, Limit: math.NaN()},
		"prices":             {Limit: 1},
		"price of \"m\"":     {Limit: 1, Prices: map[string]provider.Price{"m": {Input: -1}}},
		"shares":             {Limit: 1, Prices: table, DenyAt: -1},
		"price of \"\"":      {Limit: 1, Prices: map[string]provider.Price{"": {Input: 1}}},
		"price of \"n\": Na": {Limit: 1, Prices: map[string]provider.Price{"n": {Output: math.NaN()}}},
	} {
		if _, err := provider.NewBudget(opts); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
