package position

import "github.com/modelpatch/modelpatch/patch"

// Placer is implemented by models that lay a change in place out differently
// from one to a new file.
type Placer interface {
	// EditsInPlace is Edits for the file as it lies, where the file system can
	// insert blocks of so many bytes; 0: it cannot.
	EditsInPlace(block int64) (patch.Plan, error)
}

// EditedOpener is implemented by models that open faster after an edit in place,
// for what they know of the file.
type EditedOpener interface {
	OpenEdited(path string) (Model, error)
}

// DataSpanner is implemented by models that know which bytes of their files are
// tensor data.
type DataSpanner interface {
	// DataSpans returns the ranges [first, end) of the model's file at path that
	// hold tensor data.
	DataSpans(path string) [][2]int64
}

// ReadOnly is implemented by sites that are told, and that no verb can change.
type ReadOnly interface {
	// ReadOnly returns the site itself. A site that embeds such a one, and may be changed, gets another than
	// itself, which says nothing.
	ReadOnly() Site
}

// Reserver is implemented by models whose files can hold room for later edits.
type Reserver interface {
	// Reserve leaves n bytes of room in what Edits plans.
	Reserve(n int64)
	// Room is how many bytes of room EditsInPlace added without being asked.
	Room() int64
}
