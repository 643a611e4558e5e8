package deferred

// Phrases refer to these groups of words by name.
//
//nolint:misspell // both spellings are written
var sets = map[string]map[string]bool{
	"work": set(`add address adjust audit automate backfill benchmark build bump check clean complete configure
		connect convert cover create debug decide delete deploy document drop enable expand explore export expose extend
		extract figure finalise finalize finish fix fold handle hook implement improve include install integrate
		investigate localise localize look make merge migrate move optimise optimize patch pin polish port profile publish
		push refactor regenerate release remove rename replace resolve restructure review revisit rework rewrite roll
		rotate run set simplify split squash support switch tackle test tidy track translate tune unify update upgrade
		validate verify wire work write`),
	"worked": set(`added addressed adjusted automated backfilled benchmarked built bumped cleaned completed configured
		connected converted covered created debugged decided deleted deployed documented done dropped enabled expanded
		explored exported exposed extended extracted filed finalised finalized finished fixed folded handled implemented
		improved included integrated investigated localised localized made merged migrated moved optimised optimized
		patched polished ported profiled published rebased refactored regenerated removed renamed replaced resolved
		restructured reviewed revisited reworked rewritten simplified committed modified split supported tackled tested tidied tracked
		translated tuned unified updated upgraded validated verified wired written`),
	"working": set(`adding addressing adjusting backfilling benchmarking building cleaning completing configuring
		converting covering creating debugging deleting deploying documenting enabling extending extracting finishing
		fixing handling implementing improving integrating investigating localising making merging migrating moving
		optimising optimizing porting profiling publishing refactoring removing renaming replacing resolving reviewing
		rewriting running splitting supporting testing tidying translating tuning updating upgrading validating verifying
		wiring writing`),
	"be":         set("is are was were be been being gets got remains remain"),
	"modal":      set("will would should can could must may might shall needs need"),
	"later":      set("later future separate subsequent another different dedicated next following"),
	"change":     set("up ups pr prs mr mrs cl change changes commit pass task issue issues ticket tickets patch release version iteration step steps run session sessions iterations releases sprints sprint branch round day time follow followup phase milestone"),
	"det":        set("the a an all any this that these those it them some most both each every its our my to until for on one two three support tests docs documentation"),
	"aux":        set("is are was were has have had do does did be been"),
	"unfinished": set("committed done implemented finished merged built tested migrated deployed pushed wired integrated"),
	"meant":      set("intentionally deliberately explicitly purposely also therefore currently still"),
	"unit":       set("pr prs mr change changes changeset commit task issue ticket patch"),
	"number":     set("one two three four five six seven eight nine ten some several"),
	"gone": set(`added addressed applied cleaned cleared closed completed converted deleted dealt done dropped eliminated
		finished fixed handled implemented merged migrated picked ported processed removed replaced resolved rewritten
		settled ticked turned updated unskipped written`),
	"speaker": set("i we agent"),
}
