package modelpatch

import (
	"context"

	"github.com/modelpatch/modelpatch/internal/change"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/position"
)

// ExtendOptions say how far a model should count.
type ExtendOptions struct {
	position.ExtendOptions
	Open  OpenOptions
	Write WriteOptions
}

// Extend makes a model count to another length; see [position.Extend].
func Extend(ctx context.Context, path string, o ExtendOptions) (Result, error) {
	return run(ctx, path, change.Extend.Of(o.ExtendOptions), o.Open, o.Write)
}

// GridOptions say to which size a grid of image patches should be resampled.
type GridOptions struct {
	position.GridOptions
	Open  OpenOptions
	Write WriteOptions
}

// ResizeGrid gives an image model another picture size: the learned rows of its patches are
// resampled, and what hangs on their number follows; see [position.ResizeGrid].
func ResizeGrid(ctx context.Context, path string, o GridOptions) (Result, error) {
	return run(ctx, path, change.ResizeGrid.Of(o.GridOptions), o.Open, o.Write)
}

// RescaleOptions say how a rotary encoding should turn.
type RescaleOptions struct {
	position.RescaleOptions
	// Like is the path of another model, of either format, whose base and scaling are taken; "": none.
	// Of the other options, Length, OriginalLength, Layers and As go with it.
	Like string
	// Factors is the path of a JSON file with LongRoPE's two lists, as config.json has them; "": the
	// lists are among the options, or there are none. Factor, original length and attention factor are
	// taken from it where the options have none.
	Factors string
	Open    OpenOptions
	Write   WriteOptions
}

// Rescale changes base and scaling of a model's rotary encodings; see [position.Rescale].
func Rescale(ctx context.Context, path string, o RescaleOptions) (Result, error) {
	if o.Factors != "" {
		if err := change.ReadFactors(o.Factors, &o.RescaleOptions); err != nil {
			return Result{}, err
		}
	}
	if o.Like != "" {
		if err := change.LikeModel(ctx, o.Like, &o.RescaleOptions, source.Options(o.Open)); err != nil {
			return Result{}, err
		}
	}
	return run(ctx, path, change.Rescale.Of(o.RescaleOptions), o.Open, o.Write)
}

// OperatorOptions say in which operators rotations are to be.
type OperatorOptions struct {
	Set   string // one of position.OperatorSets
	Open  OpenOptions
	Write WriteOptions
}

// ToOperators holds a model's rotations in other operators of ONNX; see [position.ToOperators].
func ToOperators(ctx context.Context, path string, o OperatorOptions) (Result, error) {
	return run(ctx, path, change.ToOperators.Of(change.OperatorOptions{Set: o.Set}), o.Open, o.Write)
}

// SetOptions say which keys of positions to set.
type SetOptions struct {
	position.SetOptions
	Open  OpenOptions
	Write WriteOptions
}

// Set stores metadata keys of positions in a GGUF model; see [position.SetKeys].
func Set(ctx context.Context, path string, o SetOptions) (Result, error) {
	return run(ctx, path, change.Set.Of(o.SetOptions), o.Open, o.Write)
}

// WindowOptions say how far queries are to look back.
type WindowOptions struct {
	position.WindowOptions
	Open  OpenOptions
	Write WriteOptions
}

// AddWindow lets a model's attentions see near keys alone; see [position.AddWindow].
func AddWindow(ctx context.Context, path string, o WindowOptions) (Result, error) {
	return run(ctx, path, change.Window.Of(o.WindowOptions), o.Open, o.Write)
}

// ALiBiOptions say which bias to add.
type ALiBiOptions struct {
	position.ALiBiOptions
	Open  OpenOptions
	Write WriteOptions
}

// AddALiBi adds ALiBi's bias to a model's attentions, or takes it away; see [position.AddALiBi].
func AddALiBi(ctx context.Context, path string, o ALiBiOptions) (Result, error) {
	return run(ctx, path, change.ALiBi.Of(o.ALiBiOptions), o.Open, o.Write)
}

// BakeOptions say how long tables are to be.
type BakeOptions struct {
	position.BakeOptions
	Open  OpenOptions
	Write WriteOptions
}

// Bake makes encodings that a model computes when it runs tables of constants; see [position.Bake].
func Bake(ctx context.Context, path string, o BakeOptions) (Result, error) {
	return run(ctx, path, change.Bake.Of(o.BakeOptions), o.Open, o.Write)
}

// UnbakeOptions say where the change goes.
type UnbakeOptions struct {
	Open  OpenOptions
	Write WriteOptions
}

// Unbake has a model compute what its tables hold, where a formula gives their numbers; see
// [position.Unbake].
func Unbake(ctx context.Context, path string, o UnbakeOptions) (Result, error) {
	return run(ctx, path, change.Unbake.Of(struct{}{}), o.Open, o.Write)
}

// RelativeOptions say how a relative bias is to be cut.
type RelativeOptions struct {
	position.RelativeOptions
	Open  OpenOptions
	Write WriteOptions
}

// Relative changes the buckets of a model's relative bias, or resizes that of an image window; see
// [position.Relative].
func Relative(ctx context.Context, path string, o RelativeOptions) (Result, error) {
	return run(ctx, path, change.Relative.Of(o.RelativeOptions), o.Open, o.Write)
}

// run makes a change of the model at a path.
func run(ctx context.Context, path string, c *change.Change, open OpenOptions, w WriteOptions) (Result, error) {
	return written(ctx, path, open, w, func(w change.WriteOptions) (change.Result, error) {
		return c.Run(ctx, path, source.Options(open), w)
	})
}

// written makes a change of which the inputs are hashed where that is asked for.
func written(ctx context.Context, path string, open OpenOptions, w WriteOptions, make func(change.WriteOptions) (change.Result, error)) (Result, error) {
	inner := w.inner(open)
	if w.Provenance {
		var err error
		if inner.Inputs, err = change.Digests(ctx, path, source.Options(open)); err != nil {
			return Result{}, err
		}
	}
	r, err := make(inner)
	return Result{r.Plan, r.Nothing, inner.Inputs}, err
}
