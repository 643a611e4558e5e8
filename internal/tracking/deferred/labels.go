package deferred

type label struct {
	// counted means that a number after the label is a count, as in "Skipped: 3".
	counted bool
	// short means that names after the label are separate items, as in "Skipped: a.go, b.go".
	short bool
	say   []phrase
}

var remaining = phrases(`
	remaining work|items|tasks|steps|todos|issues|pieces|gaps …
	remaining <any>? <any>? <any>?
	still remaining
	what|work remains|remaining`)

var deferredLabels = []label{
	{short: true, say: remaining},
	{say: phrases(`
		follow up|ups work|items|tasks|needed|required|suggestions?
		follow up|ups for|in …
		follow up|ups issues|tickets|tasks|issue|ticket|task? created|filed|opened|suggested?
		followup issues|tickets|tasks created|filed|opened?
		followup|followups work|items|tasks|needed|required?
		follow|followup on? tasks|work|items
		still? todo|todos|fixme …
		to do|dos
		left|still|work to do|finish
		deferred work|items|tasks|changes|for?
		deferred to|until|for …
		postponed|punted|parked|unfinished|undone|tbd on|work|items|tasks?
		out of scope …
		not in scope …
		not yet? <worked> …
		left for …
		left undone|out|over|open
		for later
		for a|an? <later> <change>
		in a|an? <later> <change>
		as a|an? follow up
		as a|an? followup
		what|what's|work is? left|missing|next|open …
		what|work is? not done|finished|implemented …
		what i|we did not do|finish|get|change to?
		what|things i|we have|did not done|do|finished|finish|implemented|implement yet?
		did|have not|yet not? do|done|finish|finished|implement|implemented|complete
		not yet? done|finished|implemented|migrated|merged|covered|complete|completed|tested|addressed|handled|supported|included yet?
		still open|missing|outstanding|pending|needed
		still need|needs|needed to?
		missing
		need|needs|requires a|some? follow up|ups
		open|outstanding items|points|tasks|work|issues
		outstanding
		known? limitation|limitations …
		known issue|issues|gap|gaps|bug|bugs|problem|problems …
		manual|manually step|steps|action|actions|work|task|tasks still? needed|required|necessary|remaining|left? …
		action|actions needed|required|necessary …
		pre existing test? failure|failures|error|errors|bug|bugs|problem|problems|issue|issues …
		preexisting test? failure|failures|error|errors|bug|bugs|problem|problems|issue|issues …
		future work|improvements|enhancements|tasks|steps|considerations|ideas
		future work|improvements|enhancements …
		tbd`)},
	{counted: true, say: phrases(`
		intentionally|deliberately|explicitly? skipped|pending
		pending work|items|tasks|changes|steps`)},
	{say: phrases(`
		next step|steps|up|actions …
		next`)},
}

var doneLabels = []label{{say: phrases(`
	done|completed|complete|finished|resolved|closed|implemented|fixed|addressed …
	what|that was|is|i|we done|did|completed|finished|fixed|changed|implemented
	changes made?`)}}

var modifiers = set(`the a an my our some any suggested recommended possible potential optional immediate natural logical
	sensible known explicit main only other these are here and also work items two three`)

var products = set(`balance time budget bytes quota credits tokens days hours minutes seconds retries attempts capacity
	space memory count counter amount percentage stock seats players lives`)

// These phrases say that there is no work. A phrase in nothing begins an item, and a phrase in
// nothingAlone is a whole item.
var (
	nothing = phrases(`
		none|nothing|nil|null|nope
		n/a
		no $
		no|zero further|more|additional|other|follow|followup|action|actions|open|remaining|outstanding|deferred|pending|work|items|todo|todos|known|next|steps|changes needed?
		not applicable|needed|required|necessary
		there is|are no|none|nothing
		everything|all is|are|was|were|has|have|done|complete|completed|been`)
	nothingAlone = phrases(`
		false
		empty
		done
		completed
		complete
		all? done|good|clear
		na`)
)

// please begins a request. A request that a person does some work is deferred work. A request to
// look at something is not.
var please = phrases("please")

var requests = phrases(`
	please also|then|still|remember? manually? to? rotate|revoke|renew|replace|enable|disable|configure|create|delete|remove|grant|register|restart|reset|upgrade|migrate|provision|restore|unlock|reissue|regenerate|apply|schedule|order|invalidate`)

var optional = phrases("if you|needed|wanted|necessary|required|desired|that")

var offered = phrases(`
	let me|us
	if you
	feel free
	would|do|should|shall|can|could|may|want|is|are|did|have|will you|i|we|me|it|anything|there
	you|users
	happy|glad|ready to`)
