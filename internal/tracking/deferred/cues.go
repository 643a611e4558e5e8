package deferred

type take int

const (
	whole   take = iota
	subject      // the text before the cue
	object       // the text after the cue, or from "^" in the phrase
	gap          // the text that matches "…" in the phrase
)

type cue struct {
	take take
	// first means that the phrases mention work only at the beginning of a sentence. Only "I" or
	// "we" may come before them.
	first bool
	// plain means that the phrases mention work only before a grammatical object. Elsewhere, they
	// may be adjectives.
	plain bool
	// counted means that the phrases mention no work after a number, because "3 skipped" is a test
	// result.
	counted bool
	// predicate means that the phrases mention work only as the predicate of a sentence. Elsewhere,
	// they may be part of a name.
	predicate bool
	say       []phrase
}

var deferredCues = []cue{
	{take: object, first: true, say: phrases(`
		please also|then|still|remember? manually? to? ^ rotate|revoke|renew|replace|enable|disable|configure|create|delete|remove|grant|register|restart|reset|upgrade|migrate|provision|restore|unlock|reissue|regenerate|apply|schedule|order|invalidate`)},
	{take: object, first: true, predicate: true, say: phrases(`
		^ follow up with|on|about|regarding <any>
		still|also? need|needs|have|has|remember|plan|planning|intend|going to ^ follow up with|on|about|regarding <any>
		will|should|must|shall also|still? ^ follow up with|on|about|regarding <any>`)},
	{take: object, first: true, say: phrases(`
		<aux>? also|therefore? deferring|postponing|punting|parking|shelving|skipping on?
		have|had? punted on?
		<aux>? to skip|defer|postpone
		have|had? chose|chosen|decided to skip|defer|postpone
		did|have not have|had|get|find|found the|any|enough? time|chance|capacity to|for
		todo ^ <work>
		no time to|for
		left|leave|leaving out
		ran out of time before|to|for|on
		did|have|could not yet? get|got|gotten|around to
		did not get around to
		do|did|have|has|could|am|are|was|were not yet? able? to? ^ <work>
		unable to ^ <work>
		have not yet? ^ <worked>
		still needs|need|have|has to
		needs|need to ^ <work> further|later`)},
	{take: object, first: true, plain: true, say: phrases(`
		have|had? <meant>? parked|shelved|skipped|descoped|deprioritized|deprioritised|tabled
		<meant>? deferred|postponed ^ <det>
		<meant>? deferred|postponed ^ <working>`)},
	{take: object, plain: true, say: phrases(`
		i|we|and|but|have|had <meant>? deferred|postponed`)},
	{take: object, say: phrases(`
		we will|would still? need|have to
		follow up|ups|followup work? is|are|will|would? be? needed|required|necessary to|for
		followup|followups is|are|will|would? be? needed|required|necessary to|for
		follow|followup|later|future|separate|subsequent up? <change> should|will|could|can|must|would|might
		someone|somebody should|must|needs|has to?
		out of scope … is|are
		left|leave|leaving a|the note|reminder|comment|ticket to
		next step|steps is|are|will|would|could|should|include|includes|included be? to?
		remaining|outstanding|open work|tasks|items|steps|pieces includes|include|is|are|involves to?
		what|all remains|is is|are|left to?
		it remains to
		left|missing|remaining to do is|are to?
		filed|opened|created … as a|an? follow up to
		filed|opened|created follow up <change> … to`)},
	{take: subject, say: phrases(`
		<be> left out
		has|have? <be> still|currently|also|explicitly|intentionally|clearly|therefore|thus? deferred|postponed|punted|parked|shelved|descoped|deprioritized|deprioritised|tabled|backlogged
		has|have? <be> still|currently|also|explicitly|intentionally|clearly|therefore|considered? out of scope
		felt|seemed|feels|seems|looked out of scope
		has|have? <be> well|clearly? outside|beyond of? the? scope
		has|have? <be> not in|within the? scope
		has|have? <be> left undone|unfinished
		has|have? <be> left for now|later|a|an|another|the|future|follow
		has|have? <be> left as|to a|an? exercise|follow|followup|later|future|separate
		has|have? <be> for a|an? <later> <change>
		has|have? <be> still? future work
		has|have? <be> still needed|required|missing|outstanding|unfinished|pending|open|todo|tbd
		is|are missing|pending|outstanding $
		deferred|postponed|punted $
		remains|remain|is|are to be <worked>
		remains|remain undone|unfinished|outstanding|todo`)},
	{take: subject, counted: true, say: phrases(`
		was|were <meant>? skipped
		is|are skipped|disabled|ignored for now
		has|have been skipped`)},
	{take: gap, say: phrases(`
		left|leaving|leave … for later|another|future|now
		left|leaving|leave … for|to|until a|an? <later> <change>
		left|leaving|leave … for|to|until the <later> <change>
		left|leaving|leave … for|to|until|as a|an? follow|followup
		left|leaving|leave … as a|an? exercise|todo
		left|leaving|leave … to|for someone|somebody|others
		moved|put|putting|added|moving … to|on|in the backlog
		moved|put|putting|added|moving … on hold|ice`)},
	{take: gap, first: true, say: phrases(`
		<modal> … later|separately $
		<modal> … later once|when|if|on|in|with
		<modal> … in|with|as|to a|an? <later> <change>
		<modal> … in|with|as|to the <later> <change>
		<modal> … in|with|as|to a|an? follow|followup`)},
	{take: whole, say: phrases(`
		consider|considered|deem|deemed … out|outside|beyond of? the? scope
		<modal> still? be <worked> later|separately
		<modal> still? be … <worked> later|separately
		<modal> still? be <any>? <worked> … in|with|as|to a|an? <later> <change>
		<modal> still? be <any>? <worked> … in|with|as|to the <later> <change>
		<modal> still? be <any>? <worked> … in|with|as|to a|an? follow|followup
		<modal> … in|as|with a|an? follow|followup
		<modal> … in|as|with|to a|an? <later> <unit>
		<modal> come|follow|land|go in|with a|an? <later> <change>`)},
	{take: whole, say: phrases(`
		needs|need|requires|require|deserves|deserve|wants|warrants a|an? small|separate|proper|dedicated? follow|followup
		follow up|ups|followup work? is|are needed|required|necessary
		left|leaving|leave|added|adding|add|put|kept|have a|an|some? todo|todos|fixme|fixmes comment|marker|note? for|to|in|at|about|on|where
		left|leaving|leave a|an|some todo|todos|fixme|fixmes
		there is|are still? an|some? todo|todos
		still a|an? todo|todos
		still to do $
		still needs|need|requires|require <any>
		needs|need|requires some|more|further|additional work|investigation|testing|attention|thought
		needs|need|has|have to be <worked>
		work|tests|docs|documentation|migration|rollout|deployment|cleanup|implementation|support pending $
		still … work to do
		has|have|will|must have? to? wait for|until
		<modal> follow $
		task|job|topic|matter|something for a|an|the|another <later>
		remaining|other|rest … still
		remaining|rest … <modal> … later|separately
		remaining … tracked
		<num> … still call|calls|use|uses|reference|references|rely|depend
		separate <change> to <work>
		<num> … remain|remains
		errors|warnings|issues|failures|bugs|gaps|conflicts|questions|callers remain
		remain|remains open|unfixed|unresolved|unaddressed|untested|unimplemented
		remaining task|item|work|piece|step|part <any>? <any>? is`)},
	{take: whole, say: phrases(`
		<be> still? tbd
		<be> still? to be determined|decided|defined|confirmed|agreed
		<aux> not yet
		not yet <worked>
		is|are|code|but not <unfinished>
		<aux> not … yet $
		<be> currently|still|only? half|partially|partly done|finished|implemented|complete|migrated
		<be> currently|still? incomplete|unfinished|untested|unimplemented|undocumented
		is|are not fully|completely <worked>
		is|are not implemented|covered|documented|converted|ported|tested|wired
		is|are not fully|completely complete
		has|have not been <worked>
		was|were not <worked>
		stubbed|hardcoded|coded|disabled|mocked|commented|faked|ignored|kept … for now
		will|would still? need to be <worked>
		will|would still? need a|an|the|another|its|more|some|further|additional`)},
}

var doneCues = []cue{
	{take: gap, say: phrases(`
		deferred|postponed|skipped|pending|remaining … is|are|was|were|has|have been? now? <gone>
		deferred|postponed|skipped|pending|remaining … is|are|was|were|has|have been? now? complete`)},
	{take: object, first: true, say: phrases(`
		have? completed|finished|implemented|resolved|addressed|closed|did the deferred|postponed|skipped|pending|remaining`)},
	{take: object, first: true, say: phrases(`
		have? completed|finished|resolved|addressed|closed|did the follow up to|on|for?
		have? resolved|addressed|did the todo to|for|about`)},
}

var (
	// After one of these words, a phrase mentions no work, as in "nothing was skipped".
	denials = set(`no not nothing none never neither nor without zero cannot if unless whether when whenever because
		cause caused reason why bug what you user users`)
	// If one of these phrases follows, the work is finished, as in "the skipped test runs again".
	finished = phrases(`
		is|are|was|were|been|be now|all|since? <gone>
		is|are|now now|all? complete|live|gone
		runs|run|works|work again|now`)
	until = set("until because as since once if when after before unless for so")
	// Before one of these words, a word such as "deferred" is an adjective, as in "deferred tax
	// assets are computed".
	adjective    = set("now supports support works work run runs is are was were has have get gets can will")
	expected     = set("test tests docs documentation coverage doc")
	prepositions = set("in by on at from with during when if to because entirely")
)
