package rules

import "strings"

func (f *fold) failureTitle(fl *failure) string {
	if fl.Class != "" {
		return f.title("infrastructure failure", strings.ReplaceAll(fl.Class, "_", " "))
	}
	what := []string{clean(fl.Type, 40), clean(fl.Role, 60)}
	if fl.Role == "" {
		what = append(what, "run")
	}
	what = append(what, "failed")
	if fl.Target != "" {
		what = append(what, "at", clean(fl.Target, 100))
	}
	return f.title(strings.Join(strings.Fields(strings.Join(what, " ")), " "), clean(fl.Message, 200))
}

// title returns "GWI: what: detail".
func (f *fold) title(what, detail string) string {
	if detail != "" {
		what += ": " + detail
	}
	return strings.TrimSpace(f.config.TitlePrefix + " " + what)
}

func (f *fold) failureIssue(fl *failure, in incident) Issue {
	text := sentence(in.Name+" failed in run "+clean(in.Run, 300)) + ", and nothing followed the run before."
	if fl.Message != "" {
		text += "\n\n" + fl.Message
	}
	return Issue{
		ID: fl.Issue, Kind: Failure, Status: Open, Title: f.failureTitle(fl), Description: text,
		Reason: sentence(in.Name + " failed"),
	}
}
