// Files that the reader takes away: CSV and PNG.

export function download(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = address;
  link.download = name.replace(/[^\w.+-]+/g, "-");
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export type Rows = (string | number | null)[][];

export function csv(rows: Rows): Blob {
  const field = (value: string | number | null) => {
    const text = value === null ? "" : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  return new Blob([rows.map((row) => row.map(field).join(",") + "\n").join("")], { type: "text/csv" });
}

export async function pngOfCanvas(canvas: HTMLCanvasElement): Promise<Blob> {
  return new Promise((resolve, reject) =>
    canvas.toBlob(
      (blob) => (blob ? resolve(blob) : reject(new Error("The browser made no picture."))),
      "image/png",
    ),
  );
}

export async function pngOfSvg(element: SVGSVGElement, paper: string, scale = 2): Promise<Blob> {
  const width = element.viewBox.baseVal.width,
    height = element.viewBox.baseVal.height;
  const copy = element.cloneNode(true) as SVGSVGElement;
  copy.setAttribute("width", String(width * scale));
  copy.setAttribute("height", String(height * scale));
  const image = new Image();
  image.src =
    "data:image/svg+xml;charset=utf-8," + encodeURIComponent(new XMLSerializer().serializeToString(copy));
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = width * scale;
  canvas.height = height * scale;
  const context = canvas.getContext("2d")!;
  context.fillStyle = paper;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0);
  return pngOfCanvas(canvas);
}
