package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/schemes"
)

func newExtend(c *console) *cobra.Command {
	var o modelpatch.ExtendOptions
	var d destination
	var length int64
	var grid, image, window string
	var fix []string
	var g modelpatch.GridOptions
	cmd := &cobra.Command{
		Use:   "extend (--len N | --fix NAME=NUMBER | --grid HxW | --image SIZE) FILE -o NEW",
		Short: "Extend the context length of a model",
		Long: fmt.Sprintf(`extend gives a model a context length of N tokens.

Position tables grow: old rows stay as they are, new rows repeat them.
Sinusoids and RoPE caches are continued by their own formula. RoPE that an
engine computes from metadata keys (GGUF), or the graph by itself, is scaled, by
YaRN by default, from the length that the file or config.json beside it states.

--method, for tables: %s
          for RoPE:   %s
grouped, interpolate and stretch move old rows: outputs change at every length.
--shorter allows fewer positions than there are: rows, masks and fixed
dimensions are cut, and what fits keeps its outputs.

--fix turns free axes of an ONNX model's inputs (batch, length, height, width)
into numbers, through the whole graph, as compilers for NPUs want them.

Image models: --grid or --image resamples the learned rows of the patches as
their own code does for another picture size; --kernel says how, one of
%s.
Videos have patches along time as well: --grid TxHxW. Sines and cosines of
patches go on by their formula; with --method linear they are squeezed into the
span that they had, as EVA-02 and PixArt do for larger pictures.`, strings.Join(schemes.GrowMethods, ", "), strings.Join(position.RopeMethods(), ", "), strings.Join(kernels(), ", ")),
		Example: `  modelpatch extend --len 1024 bert.onnx -o bert-1024.onnx
  modelpatch extend --len 32768 llama.gguf -o llama-32k.gguf
  modelpatch extend --len 8192 --method linear --dry-run llama.gguf
  modelpatch extend --len 384 --shorter bert-512.onnx -o bert-384.onnx
  modelpatch extend --fix batch=1,sequence=128 bert.onnx -o bert-1x128.onnx
  modelpatch extend --image 384 vit-224.onnx -o vit-384.onnx`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			return d.run(c, files[0], func() (modelpatch.Result, error) {
				if cmd.Flags().Changed("grid") || cmd.Flags().Changed("image") {
					if err := gridOptions(cmd, grid, image, window, &g); err != nil {
						return modelpatch.Result{}, err
					}
					g.Method = o.Method
					g.Open, g.Write = d.open, d.write
					return modelpatch.ResizeGrid(cmd.Context(), files[0], g)
				}
				if err := textOptions(cmd, length, fix, &o); err != nil {
					return modelpatch.Result{}, err
				}
				o.Open, o.Write = d.open, d.write
				return modelpatch.Extend(cmd.Context(), files[0], o)
			})
		},
	}
	f := cmd.Flags()
	f.Int64Var(&length, "len", 0, "the new length in positions")
	f.BoolVar(&o.Shorter, "shorter", false, "allow a length below the present one: positions beyond it are cut off")
	f.StringSliceVar(&fix, "fix", nil, "free axes of inputs that become numbers, NAME=NUMBER or INPUT:AXIS=NUMBER")
	f.StringVar(&o.Method, "method", "", "how, see above")
	f.IntVar(&o.OriginalLength, "original-length", 0, "length that the model was trained with, where neither the file nor config.json tells")
	f.StringVar(&grid, "grid", "", "the new grid of image patches, HxW; TxHxW of a video, T along time")
	f.StringVar(&image, "image", "", "the side of the new picture in pixels, or HxW")
	f.StringVar(&g.Kernel, "kernel", "", "how patches are resampled, see above")
	f.StringVar(&window, "window", "", "side of the windows that a picture is cut into (Swin), in places, or HxW; not given: as it was, where the file tells that it stays")
	f.StringVar(&g.WindowMethod, "window-method", "", "how biases between patches (BEiT) are resized: "+strings.Join(schemes.WindowMethods, ", "))
	f.IntVar(&o.Grow.Keep, "keep", 0, "rows that --method stretch leaves alone (default 20)")
	f.StringVar(&o.Grow.Anchor, "anchor", "", "row that --method hierarchical takes a share of off every other: mean (of the ordinary rows, default), first (as published)")
	group(cmd, flagsWhat, "len", "fix", "grid", "image")
	group(cmd, flagsHow, "shorter", "method", "original-length", "kernel", "window", "window-method", "keep", "anchor")
	takes(cmd, "method", append(slices.Clone(schemes.GrowMethods), position.RopeMethods()...)...)
	takes(cmd, "kernel", kernels()...)
	takes(cmd, "window-method", schemes.WindowMethods...)
	takes(cmd, "anchor", schemes.Anchors...)
	d.addFlags(c, cmd)
	d.addPatchFlags(cmd)
	return reading(c, cmd, &d.open)
}

// kernels are the words of --kernel.
func kernels() (names []string) {
	for _, k := range schemes.Kernels {
		names = append(names, k.Name)
	}
	return names
}

// textOptions checks the flags that belong to --len.
func textOptions(cmd *cobra.Command, length int64, fix []string, o *modelpatch.ExtendOptions) error {
	var err error
	if o.Fix, err = axesOf(fix); err != nil {
		return err
	}
	if len(fix) > 0 && !cmd.Flags().Changed("len") {
		for _, name := range []string{"shorter", "method", "original-length", "kernel", "window", "window-method", "keep", "anchor"} {
			if cmd.Flags().Changed(name) {
				return &position.UsageError{What: "--" + name + " with --fix alone", Hint: "it belongs to --len, --grid or --image"}
			}
		}
		return nil
	}
	switch {
	case !cmd.Flags().Changed("len"):
		return &position.UsageError{What: "no new length", Hint: "--len N for text, --grid HxW or --image SIZE for pictures, --fix NAME=NUMBER for free axes"}
	case length > position.MaxLength || length < 1:
		return &position.UsageError{What: fmt.Sprintf("--len %d: a length must be between 1 and %d", length, int64(position.MaxLength))}
	case cmd.Flags().Changed("window-method"):
		return &position.UsageError{What: "--window-method with --len", Hint: "it resizes biases between the patches of a picture (--grid, --image)"}
	case cmd.Flags().Changed("window"):
		return &position.UsageError{What: "--window with --len", Hint: "it is of pictures that are cut into windows (--grid, --image)"}
	case cmd.Flags().Changed("kernel"):
		return &position.UsageError{What: "--kernel with --len", Hint: "it resamples pictures (--grid, --image); --method says how a text's table grows"}
	}
	if cmd.Flags().Changed("keep") && o.Grow.Keep == 0 {
		o.Grow.Keep = -1 // none
	}
	o.Length = int(length)
	return explicitZero(cmd, "original-length")
}

// axesOf reads NAME=NUMBER of --fix.
func axesOf(fix []string) (axes []position.Axis, err error) {
	for _, text := range fix {
		i := strings.LastIndex(text, "=")
		n, err := strconv.Atoi(text[i+1:])
		if i < 1 || err != nil {
			return nil, &position.UsageError{What: fmt.Sprintf("--fix %q", text), Hint: "the name of a free axis and a number: --fix batch=1, or an input and the place of the axis: --fix input_ids:1=128"}
		}
		axes = append(axes, position.Axis{Name: text[:i], Size: n})
	}
	return axes, nil
}

// gridOptions reads HxW of a grid or of a picture, whose side alone does, and refuses the flags that belong to --len.
func gridOptions(cmd *cobra.Command, grid, image, window string, g *modelpatch.GridOptions) error {
	for _, name := range []string{"len", "fix", "shorter", "original-length", "keep", "anchor"} {
		if cmd.Flags().Changed(name) {
			return &position.UsageError{What: "--" + name + " with --grid or --image", Hint: "it belongs to a length of text; text and pictures are extended one after the other"}
		}
	}
	if cmd.Flags().Changed("grid") && cmd.Flags().Changed("image") {
		return &position.UsageError{What: "--grid with --image", Hint: "choose one of them"}
	}
	if window != "" {
		var err error
		if g.Window, err = sidesOf("window", window, "the side in places, or height and width: --window 7 or --window 7x14"); err != nil {
			return err
		}
	}
	if !cmd.Flags().Changed("grid") {
		size, err := sidesOf("image", image, "the side in pixels, or height and width: --image 384 or --image 384x512")
		if g.Image = size[0]; size[1] != size[0] {
			g.ImageWidth = size[1]
		}
		return err
	}
	if frames, sides, ok := strings.Cut(strings.ToLower(grid), "x"); ok && strings.Contains(sides, "x") {
		n, err := strconv.Atoi(frames)
		if err != nil || n < 1 {
			return &position.UsageError{What: fmt.Sprintf("--grid %q", grid), Hint: gridHint}
		}
		g.Frames, grid = n, sides
	}
	size, err := sizeOf("grid", grid, gridHint)
	g.Height, g.Width = size[0], size[1]
	return err
}

const gridHint = "height and width in patches, --grid 24x24, after the patches along time of a video, --grid 8x14x14"

// sidesOf reads one side, or the height and width, of a flag.
func sidesOf(flag, text, hint string) (size [2]int, err error) {
	if side, err := strconv.Atoi(text); err == nil && side > 0 {
		return [2]int{side, side}, nil
	}
	return sizeOf(flag, text, hint)
}

// sizeOf reads the height and width of a flag, HxW.
func sizeOf(flag, text, hint string) (size [2]int, err error) {
	if _, err := fmt.Sscanf(strings.ToLower(text)+"\n", "%dx%d\n", &size[0], &size[1]); err != nil || size[0] < 1 || size[1] < 1 {
		return size, &position.UsageError{What: fmt.Sprintf("--%s %q", flag, text), Hint: hint}
	}
	return size, nil
}
