// The decoder: codes to pixels, in plain JavaScript.
//
// A model lists its layers with the shape that each gives; weights lie in one block of bytes. All
// layers work on planes: values of channel, row and column, one after the other.

const ACTIVATIONS = {
  relu: (x) => (x > 0 ? x : 0),
  leaky_relu: (x, slope) => (x > 0 ? x : slope * x),
  elu: (x, alpha) => (x > 0 ? x : alpha * Math.expm1(x)),
  silu: (x) => x / (1 + Math.exp(-x)),
  tanh: Math.tanh,
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
};

const LAYERS = { linear, convolution, transposed_convolution: transposedConvolution, activation, reshape, pad, scale };

// Bytes to weights

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

function halfToNumber(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

let halves; // every half as a number: faster than computing each

function halvesToFloats(bits) {
  halves ??= Float32Array.from({ length: 65536 }, (_, i) => halfToNumber(i));
  return Float32Array.from(bits, (half) => halves[half]);
}

// Of int8 weights each block has a scale of its own.
function readTensor(bytes, tensor) {
  const { kind, at, size } = tensor;
  if (kind === "float32") return new Float32Array(bytes.buffer.slice(at, at + 4 * size));
  if (kind === "float16") return halvesToFloats(new Uint16Array(bytes.buffer.slice(at, at + 2 * size)));
  const whole = new Int8Array(bytes.buffer, at, size);
  const scales = readTensor(bytes, tensor.scales);
  return Float32Array.from(whole, (value, i) => value * scales[Math.floor(i / tensor.block)]);
}

// Layers: each takes values and their shape

function linear(layer, input) {
  const { weight, bias } = layer, wide = input.length;
  const output = new Float32Array(bias.length);
  for (let o = 0, w = 0; o < bias.length; o++) {
    let sum = bias[o];
    for (let i = 0; i < wide; i++, w++) sum += weight[w] * input[i];
    output[o] = sum;
  }
  return output;
}

// Planes with zeros around them; negative widths crop.
function surround(input, [channels, height, width], [left, right, above, below]) {
  const high = height + above + below, wide = width + left + right;
  const output = new Float32Array(channels * high * wide);
  const first = Math.max(0, -left), last = width - Math.max(0, -right);
  for (let c = 0; c < channels; c++) {
    for (let y = Math.max(0, -above); y < height - Math.max(0, -below); y++) {
      const row = (c * height + y) * width;
      output.set(input.subarray(row + first, row + last), (c * high + y + above) * wide + left + first);
    }
  }
  return output;
}

// Adds to a plane what one channel of the input gives. A tap is a weight and where it looks,
// relative to the pixel; four are taken at a time, which saves loads and stores.
function addTaps(plane, high, wide, input, rowLength, stride, weights, offsets) {
  for (let t = 0; t < weights.length; t += 4) {
    const u = weights[t], v = weights[t + 1], w = weights[t + 2], x = weights[t + 3];
    const a = offsets[t], b = offsets[t + 1], c = offsets[t + 2], d = offsets[t + 3];
    for (let y = 0, p = 0; y < high; y++) {
      for (let i = y * stride[0] * rowLength, end = p + wide; p < end; p++, i += stride[1]) {
        plane[p] += u * input[i + a] + v * input[i + b] + w * input[i + c] + x * input[i + d];
      }
    }
  }
}

// Kernel positions as taps, filled up to a multiple of four with weights of 0.
function emptyTaps(count) {
  const length = 4 * Math.ceil(count / 4);
  return { weights: new Float32Array(length), offsets: new Int32Array(length) };
}

function convolution(layer, input, shape) {
  const [channels, height, width] = shape, [outputs, high, wide] = layer.shape;
  const [kernelHigh, kernelWide] = layer.kernel, [down, across] = layer.padding;
  const padded = surround(input, shape, [across, across, down, down]);
  const rowLength = width + 2 * across, plane = (height + 2 * down) * rowLength;
  const area = kernelHigh * kernelWide, { weights, offsets } = emptyTaps(area);
  for (let k = 0; k < area; k++) offsets[k] = Math.floor(k / kernelWide) * rowLength + (k % kernelWide);
  const output = new Float32Array(outputs * high * wide);
  for (let o = 0; o < outputs; o++) {
    const target = output.subarray(o * high * wide, (o + 1) * high * wide).fill(layer.bias[o]);
    for (let c = 0; c < channels; c++) {
      weights.set(layer.weight.subarray((o * channels + c) * area, (o * channels + c + 1) * area));
      addTaps(target, high, wide, padded.subarray(c * plane, (c + 1) * plane), rowLength, layer.stride, weights, offsets);
    }
  }
  return output;
}

// Output pixels that lie equally between input pixels form a phase; each phase is a plain
// convolution with the part of the kernel that reaches it. Stride 2 has four phases.
function transposedConvolution(layer, input, shape) {
  const [channels, height, width] = shape, [outputs, high, wide] = layer.shape;
  const [kernelHigh, kernelWide] = layer.kernel, [strideDown, strideAcross] = layer.stride;
  const reachDown = Math.ceil(kernelHigh / strideDown), reachAcross = Math.ceil(kernelWide / strideAcross);
  // Beyond the input lies one kernel's reach of zeros, and as much as the output needs.
  const moreDown = Math.max(0, Math.ceil((high + layer.padding[0]) / strideDown) - height);
  const moreAcross = Math.max(0, Math.ceil((wide + layer.padding[1]) / strideAcross) - width);
  const padded = surround(input, shape, [reachAcross, moreAcross, reachDown, moreDown]);
  const rowLength = width + reachAcross + moreAcross, plane = (height + reachDown + moreDown) * rowLength;
  const output = new Float32Array(outputs * high * wide);
  for (let py = 0; py < strideDown; py++) {
    for (let px = 0; px < strideAcross; px++) {
      const taps = phaseTaps(layer, py, px, rowLength, reachDown, reachAcross);
      const phaseHigh = Math.ceil((high - py) / strideDown), phaseWide = Math.ceil((wide - px) / strideAcross);
      const target = new Float32Array(phaseHigh * phaseWide);
      for (let o = 0; o < outputs; o++) {
        target.fill(layer.bias[o]);
        for (let c = 0; c < channels; c++) {
          const kernel = (c * outputs + o) * kernelHigh * kernelWide;
          for (let t = 0; t < taps.places.length; t++) taps.weights[t] = layer.weight[kernel + taps.places[t]];
          addTaps(target, phaseHigh, phaseWide, padded.subarray(c * plane, (c + 1) * plane), rowLength, [1, 1], taps.weights, taps.offsets);
        }
        for (let y = 0, p = 0; y < phaseHigh; y++) {
          const row = (o * high + y * strideDown + py) * wide + px;
          for (let x = 0; x < phaseWide; x++, p++) output[row + x * strideAcross] = target[p];
        }
      }
    }
  }
  return output;
}

// Output row y takes input row (y + padding - k) / stride for each row k of the kernel where that is whole.
function phaseTaps(layer, py, px, rowLength, reachDown, reachAcross) {
  const [kernelHigh, kernelWide] = layer.kernel, [strideDown, strideAcross] = layer.stride;
  const [paddingDown, paddingAcross] = layer.padding;
  const places = [], looks = [];
  for (let ky = (py + paddingDown) % strideDown; ky < kernelHigh; ky += strideDown) {
    for (let kx = (px + paddingAcross) % strideAcross; kx < kernelWide; kx += strideAcross) {
      const dy = (py + paddingDown - ky) / strideDown, dx = (px + paddingAcross - kx) / strideAcross;
      places.push(ky * kernelWide + kx);
      looks.push((dy + reachDown) * rowLength + dx + reachAcross);
    }
  }
  const taps = emptyTaps(places.length);
  taps.offsets.set(looks);
  return { places, ...taps };
}

function activation(layer, input) {
  const apply = ACTIVATIONS[layer.name];
  for (let i = 0; i < input.length; i++) input[i] = apply(input[i], layer.constant);
  return input;
}

function reshape(layer, input) {
  return input;
}

function pad(layer, input, shape) {
  return surround(input, shape, layer.widths);
}

// Undoes the standardisation of the data, channel by channel.
function scale(layer, input, [, height, width]) {
  const plane = height * width;
  for (let i = 0; i < input.length; i++) {
    const c = Math.floor(i / plane);
    input[i] = input[i] * layer.std[c] + layer.mean[c];
  }
  return input;
}

// Pixels

// Grey and colour as they are; other channels one above the other.
function toPixels(values, [channels, height, width]) {
  const colour = channels === 3, plane = height * width;
  const image = new ImageData(width, colour ? height : channels * height);
  for (let place = 0, p = 0; p < image.data.length; place++, p += 4) {
    for (let c = 0; c < 3; c++) {
      image.data[p + c] = Math.round(255 * values[place + (colour ? c * plane : 0)]);
    }
    image.data[p + 3] = 255;
  }
  return image;
}

// A function from a code to an image.
function makeDecoder(description) {
  const bytes = bytesOf(description.weights);
  const layers = description.layers.map((layer) =>
    layer.weight ? { ...layer, weight: readTensor(bytes, layer.weight), bias: readTensor(bytes, layer.bias) } : layer);
  return (code) => {
    let values = Float32Array.from(code), shape = [code.length];
    for (const layer of layers) {
      values = LAYERS[layer.kind](layer, values, shape);
      shape = layer.shape;
    }
    return toPixels(values, shape);
  };
}
