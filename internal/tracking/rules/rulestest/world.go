package rulestest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Times are in seconds.
const (
	worldAgents = 50
	worldHours  = 24
	worldStorm  = 300 // failures with different causes
	hour        = 3600.0
)

// World returns the simulated day of 50 agents of four tenants. It expects one issue for each cause
// of failures, however many runs fail.
func World(seed uint64) Scenario {
	w := &world{
		rng: rand.New(rand.NewPCG(seed, 50)),
		sc:  Scenario{Name: fmt.Sprintf("W%03d", seed), Title: "a simulated day"},
		at:  make(map[string][]float64), causes: make(map[string]*Expected), outages: make(map[string][]outage),
	}
	tenants := []string{"acme", "beta", "gamma", "delta"}
	w.storm(tenants[w.rng.IntN(len(tenants))])
	for _, tenant := range tenants {
		w.plan(tenant)
		for target := range 4 {
			w.check(tenant, fmt.Sprintf("repo%c", 'a'+target))
		}
	}
	for agent := range worldAgents {
		w.agent(tenants[agent%len(tenants)], agent)
	}
	return w.finish()
}

type outage struct {
	from, to float64
	class    string
}

type world struct {
	rng     *rand.Rand
	sc      Scenario
	n       int
	at      map[string][]float64 // creation times of issues by tenant
	causes  map[string]*Expected
	keys    []string
	outages map[string][]outage
	quiet   [2]float64 // time around the storm without new causes
	stormed string
}

func (w *world) between(from, to float64) float64 { return from + w.rng.Float64()*(to-from) }

func (w *world) room(tenant string, t float64) bool {
	if tenant == w.stormed && t > w.quiet[0] && t < w.quiet[1] {
		return false
	}
	near, hourly := 0, 0
	for _, made := range w.at[tenant] {
		if d := max(made-t, t-made); d < 700 {
			near++
			hourly++
		} else if d < hour+100 {
			hourly++
		}
	}
	if near >= 2 || hourly >= 5 {
		return false
	}
	w.at[tenant] = append(w.at[tenant], t)
	return true
}

func (w *world) add(e Event) string {
	w.n++
	e.ID = fmt.Sprintf("%s-%06d", w.sc.Name, w.n)
	w.sc.Events = append(w.sc.Events, e)
	return e.ID
}

func (w *world) cause(key, tenant, kind string, final Words, ids ...string) {
	x := w.causes[key]
	if x == nil {
		x = &Expected{Key: key, Tenant: tenant, Kind: Words{kind}}
		w.causes[key] = x
		w.keys = append(w.keys, key)
	}
	x.Covers, x.Final = append(x.Covers, ids...), final
}

var parts = strings.Fields("alder birch cedar dogwood elm fir gum hazel iris juniper kapok larch maple nutmeg oak pine quince rowan spruce teak")

func name(n int) string { return parts[n%20] + " " + parts[n/20%20] + " " + parts[n/400%20] }

func (w *world) noise() string {
	return fmt.Sprintf("job %08x-4c1e-4b7a-9f00-%012x after %d s", w.rng.Uint32(), w.rng.Uint64()&0xffffffffffff, w.rng.IntN(900))
}

func (w *world) storm(tenant string) {
	start := w.between(6*hour, 16*hour)
	w.stormed, w.quiet = tenant, [2]float64{start - hour - 100, start + hour + 700}
	var ids []string
	for n := range worldStorm {
		ids = append(ids, w.add(Event{
			T: start + float64(n)*1.7, Tenant: tenant, Run: fmt.Sprintf("storm-%d", n), Ev: "step", Type: "TRIAGE", Role: "TRIAGE", Step: "TRIAGE",
			Status: "failed", Err: fmt.Sprintf("cannot load %s: %s", name(n), w.noise()), Meta: map[string]any{"complexity": 1.0, "target": "storm"},
		}))
	}
	for n := range 5 {
		w.cause(fmt.Sprintf("storm %d", n), tenant, "failure", Words{"open"}, ids[n])
	}
	w.cause("storm digest", tenant, "digest", Words{"open"}, ids[5:]...)
}

func (w *world) plan(tenant string) {
	for _, class := range []string{"provider_unavailable", "rate_limit"} {
		from := w.between(hour, (worldHours-3)*hour)
		if w.rng.IntN(3) == 0 || !w.room(tenant, from) {
			continue
		}
		w.outages[tenant] = append(w.outages[tenant], outage{from, from + w.between(600, 2400), class})
	}
}

func (w *world) out(tenant string, t float64) string {
	for _, o := range w.outages[tenant] {
		if t >= o.from && t < o.to {
			return o.class
		}
	}
	return ""
}

func (w *world) check(tenant, target string) {
	broken, left, n := "", 0, 0
	for t := w.between(0, 1500); t < worldHours*hour-600; t += w.between(1200, 1900) {
		n++
		run := fmt.Sprintf("%s-%s-%d", tenant, target, n)
		if broken == "" && w.out(tenant, t) == "" && w.rng.IntN(25) == 0 && w.room(tenant, t) {
			broken, left = fmt.Sprintf("%s of %s: %s is red", target, tenant, name(n+w.rng.IntN(7000))), 1+w.rng.IntN(6)
		}
		e := Event{T: t, Tenant: tenant, Run: run, Ev: "step", Type: "REVIEW", Role: "VALIDATOR", Step: "VALIDATOR", Meta: map[string]any{"target": target, "complexity": 1.0}}
		end := Event{T: t + 10, Tenant: tenant, Run: run, Ev: "end", Type: "REVIEW", Meta: map[string]any{"target": target}}
		switch class := w.out(tenant, t); {
		case class != "":
			w.fails(e, end, class)
		case broken != "":
			e.Status, e.Err = "failed", broken+": "+w.noise()
			w.cause(broken, tenant, "failure", Words{"open"}, w.add(e), w.add(end))
			if left--; left <= 0 {
				broken = ""
			}
		default:
			e.Status, e.Out, end.OK = "completed", "All green.", true
			w.add(e)
			w.add(end)
			w.repaired(target + " of " + tenant + ": ")
		}
	}
}

func (w *world) repaired(prefix string) {
	for key, x := range w.causes {
		if strings.HasPrefix(key, prefix) {
			x.Final = Words{"closed"}
		}
	}
}

func (w *world) fails(step, end Event, class string) {
	step.Status, step.Err = "failed", "provider: "+w.noise()
	step.Meta["errorClass"] = class
	w.cause("outage "+step.Tenant+" "+class, step.Tenant, "failure", Words{"open", "closed", "flapping"}, w.add(step), w.add(end))
}

func (w *world) agent(tenant string, agent int) {
	for n, t := 0, w.between(0, hour); t < (worldHours-2)*hour; n, t = n+1, t+w.between(900, 3600) {
		run := fmt.Sprintf("a%d-%d", agent, n)
		if w.rng.IntN(4) == 0 && w.room(tenant, t) {
			t = w.work(tenant, run, t)
			continue
		}
		w.small(tenant, run, t, agent*100+n)
	}
}

func (w *world) work(tenant, item string, t float64) float64 {
	for try := range 3 {
		run := fmt.Sprintf("%s-%d", item, try)
		meta := map[string]any{"workItem": item}
		base := Event{T: t, Tenant: tenant, Run: run, Type: "RESOLVE", Meta: meta}
		start, step, end := base, base, base
		start.Ev, step.Ev, end.Ev = "start", "step", "end"
		step.T, step.Role, step.Step, end.T = t+w.between(20, 300), "CODER", "CODER", t+w.between(310, 500)
		key := "work " + item
		class := w.out(tenant, step.T)
		failed := class != "" || w.rng.IntN(3) == 0
		ids := []string{w.add(start)}
		switch {
		case class != "":
			step.Meta = map[string]any{"workItem": item, "errorClass": class}
			step.Status, step.Err = "failed", "provider: "+w.noise()
			id := w.add(step)
			ids = append(ids, id)
			w.cause("outage "+tenant+" "+class, tenant, "failure", Words{"open", "closed", "flapping"}, id)
		case failed:
			step.Status, step.Err = "failed", "cannot merge: "+w.noise()
			ids = append(ids, w.add(step))
		default:
			step.Status, step.Out = "completed", "Merged; no follow-up needed."
			ids = append(ids, w.add(step))
		}
		end.OK = !failed
		ids = append(ids, w.add(end))
		if t = end.T; !failed {
			w.cause(key, tenant, "tracking", Words{"closed"}, ids...)
			return t
		}
		w.cause(key, tenant, "tracking", Words{"blocked"}, ids...)
		t += w.between(300, 1200)
	}
	return t
}

func (w *world) small(tenant, run string, t float64, n int) {
	meta := map[string]any{"complexity": 1.0, "target": run}
	step := Event{T: t, Tenant: tenant, Run: run, Ev: "step", Type: []string{"PLAN", "TRIAGE"}[n%2], Role: "PLANNER", Step: "PLANNER", Meta: meta, Status: "completed", Out: "Wrote the plan; nothing is out of scope."}
	end := Event{T: t + 25, Tenant: tenant, Run: run, Ev: "end", Type: step.Type, OK: true, Meta: map[string]any{"target": run}}
	if class := w.out(tenant, t); class != "" {
		end.OK = false
		w.fails(step, end, class)
		return
	}
	switch w.rng.IntN(8) {
	case 0: // a step recovers at once
		failed := step
		failed.T, failed.Status, failed.Out, failed.Err = t-15, "failed", "", "flaky: "+w.noise()
		w.add(failed)
		w.add(step)
	case 1:
		if !w.room(tenant, t) {
			return
		}
		step.Out = "Wrote the plan. Follow-up: rework the " + name(n) + " adapter."
		w.cause("deferred "+tenant+name(n), tenant, "followup", Words{"open"}, w.add(step))
	default:
		w.add(step)
	}
	w.add(end)
}

func (w *world) finish() Scenario {
	for _, key := range w.keys {
		x := w.causes[key]
		x.Optional = strings.HasPrefix(key, "outage") && len(x.Covers) < 6
		w.sc.Expected = append(w.sc.Expected, *x)
	}
	slices.SortStableFunc(w.sc.Events, func(a, b Event) int {
		switch {
		case a.T < b.T:
			return -1
		case a.T > b.T:
			return 1
		}
		return 0
	})
	return w.sc
}
