"""Model: an objective of unknot in a training loop of one's own."""

from functools import partial
from typing import Literal

import torch
import torch.distributed as dist
from torch import Tensor, nn

from unknot.api.own_net import call_module, is_bounded, question_logits, taking
from unknot.core.border import check_type, check_whole
from unknot.core.errors import ConfigError, DataError, ShapeError
from unknot.core.hyper import at, endless
from unknot.core.objective import (
    Adversarial,
    Batchwise,
    Labelled,
    Net,
    Note,
    Objective,
    Stateful,
    Step,
    Term,
    Terms,
    no_critic,
    sampler_of,
    total,
    views_of,
)
from unknot.core.optim import Adam, Optimizer
from unknot.core.posterior import Posterior
from unknot.core.text import number, shown
from unknot.core.typed import check_hint, typed
from unknot.engine.population import carried, loss_of, recode
from unknot.engine.updates import move_weights, torch_optimizer
from unknot.losses.likelihood import activate, likelihood_of
from unknot.nets.parts.dispersion import with_dispersion
from unknot.nets.parts.features import layer_outputs
from unknot.nets.parts.given_modules import split_encoding
from unknot.nets.parts.weights import initialize


def processes() -> int:
    """How many processes of ``torch.distributed`` train together."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


class Losses(dict[str, Tensor]):
    """Values by name: each term, each note, ``total``, and ``critic`` where there is one."""

    def __init__(self, terms: dict[str, Terms]) -> None:
        super().__init__()
        self.terms = terms
        """The terms with their weights, of the net and of the critic."""
        for name, term in (pair for named in terms.values() for pair in named.items()):
            if isinstance(term, Term | Note):
                self[name] = term.value
        self["total"] = total(terms["net"])
        if "critic" in terms:
            self["critic"] = total(terms["critic"])

    def __repr__(self) -> str:
        values = ", ".join(f"{name} {number(value.item())}" for name, value in self.items())
        return f"Losses({values})"


class Model(nn.Module):
    """An objective with modules of one's own, for a loop of one's own.

    ``losses(x)`` gives the terms, and ``step(losses)`` moves all weights; or take the gradients
    with ``backward(losses)`` and move them yourself. Noise comes from ``seed`` and the number of
    calls so far, so that a loop gives the same numbers again. In several processes of
    ``torch.distributed`` gradients are averaged over all; give each the same seed, from which a
    critic begins, and weights that are alike.

    Args:
        objective: One of `unknot.objectives`, or of your own.
        encoder: Images to means and log-variances: a pair ``(mean, logvar)``, or one tensor
            ``[n, 2 z]``.
        decoder: Codes ``[n, z]`` to logits, or means if the likelihood is Gaussian; never
            activated. Images of counts are log1p of them, ``[n, columns, 1, 1]``.
        n_data: How many images there are to train on.
        seed: Of the noise, and of the weights of a critic.
        optimizer: What `step` uses; the critic has that of its objective.

    Example:
        >>> from unknot.objectives import BetaVAE
        >>> encoder = nn.Sequential(nn.Flatten(), nn.Linear(64, 2 * 3))
        >>> decoder = nn.Sequential(nn.Linear(3, 64), nn.Unflatten(1, (1, 8, 8)))
        >>> model = Model(BetaVAE(beta=2.0), encoder, decoder, n_data=100)
        >>> losses = model.losses(torch.rand(16, 1, 8, 8))
        >>> model.step(losses)
        >>> sorted(losses)
        ['kl', 'recon', 'total']
    """

    t: Tensor

    def __init__(
        self,
        objective: Objective,
        encoder: nn.Module,
        decoder: nn.Module,
        *,
        n_data: int,
        seed: int = 0,
        optimizer: Optimizer | None = None,
    ) -> None:
        super().__init__()
        if isinstance(objective, type):
            raise ConfigError(
                f"objective is a class; make an instance of it: {objective.__name__}(...)."
            )
        if not hasattr(objective, "terms"):
            raise ConfigError(
                "objective is one of unknot.objectives, or an object with the method terms; got "
                f"{shown(objective)}."
            )
        check_type("encoder", encoder, nn.Module)
        check_type("decoder", decoder, nn.Module)
        n_data = check_whole("n_data", n_data, 1)
        if names := endless(objective):
            raise ConfigError(
                f"{type(objective).__name__}.{names[0]} lasts the whole run; in your own loop give "
                "the schedule its steps."
            )
        self.objective, self.n_data, self.seed = objective, n_data, seed
        self.optim = Adam() if optimizer is None else optimizer
        self.encoder, self.decoder = encoder, decoder
        self.critic: nn.Module | None = None
        self.extra = nn.ParameterDict()
        self.register_buffer("t", torch.zeros((), dtype=torch.int64))
        self.carried: dict[str, Tensor] = {}
        self._optimizers: dict[str, torch.optim.Optimizer] = {}
        self._built = self._labelled = False
        self._latents = 0

    @typed()
    def build(self, x: Tensor, factors: Tensor | None = None) -> "Model":
        """Make what depends on the shape of images and codes: the critic, and extra state.

        `losses` does it at its first call. Call it before if you make optimisers of your own.

        Args:
            x: Some images.
            factors: Theirs, of an objective that is told them.
        """
        if not self._built:
            self._build(x)
            self._built = True
        if isinstance(self.objective, Labelled) and factors is not None and not self._labelled:
            start = at(self.objective, self.t, x.dtype)
            seed = torch.tensor(self.seed, device=x.device)
            learnt = start.label_state(self._latents, factors.shape[-1], seed)
            self.extra.update({n: nn.Parameter(v.to(x)) for n, v in learnt.items()})
            self._labelled = True
        return self

    def _build(self, x: Tensor) -> None:
        if not x.is_floating_point():
            raise DataError(f"Images must be floats in [0, 1]; got {x.dtype}. Divide them by 255.")
        if is_bounded(likelihood_of(self.objective)) and not bool(((x >= 0) & (x <= 1)).all()):
            raise DataError(
                f"Images must lie in [0, 1]; these lie in [{x.min():g}, {x.max():g}]. Divide them "
                'by 255, or give the objective likelihood="gaussian".'
            )
        if likelihood_of(self.objective) == "negative_binomial":
            self.decoder = with_dispersion(self.decoder, (*x.shape[1:],)).to(x)
        was, device = self.training, x.device
        with torch.no_grad():
            self.eval()
            mean, _ = split_encoding(call_module("encoder", self.encoder, x[:2]))
            decoded = call_module("decoder", self.decoder, mean)
            self.train(was)
        self._check_decoded(decoded, x[:2])
        z, seeds = mean.shape[-1], torch.tensor([self.seed], device=device)
        if isinstance(self.objective, Adversarial):
            with torch.device("meta"):
                critic = self.objective.critic((*x.shape[1:],), z)
            weights = initialize(critic, "critic", "torch", seeds, dtype=x.dtype)
            self.critic = critic.to_empty(device=device).to(x.dtype)
            for name, weight in self.critic.named_parameters():
                weight.data.copy_(weights[f"critic.{name}"][0])
        if isinstance(self.objective, Stateful):
            start = at(self.objective, self.t, x.dtype)
            state = start.extra_state(z, torch.tensor(self.seed, device=device))
            self.extra.update({n: nn.Parameter(v.to(x)) for n, v in state.learnt.items()})
            self.carried = {name: value.to(x) for name, value in state.carried.items()}
        self._latents = z

    def losses(self, x: Tensor, *views: Tensor, factors: Tensor | None = None) -> Losses:
        """The terms of the loss of a batch, ``total``, and ``critic`` where there is one.

        In evaluation mode nothing is counted: the next call draws the same noise.

        Args:
            x: Images ``[n, c, h, w]``.
            views: The other images of pairs or triplets, each like ``x``. An objective whose
                images are independent, such as FactorVAE, takes one batch and halves it.
            factors: Of an objective that is told them, such as S2VAE: those of all images
                ``[views * n, f]``, view after view, each scaled to 0 .. 1; NaN where unknown.

        Raises:
            ShapeError: The objective takes another number of images.
        """
        for images in (x, *views):
            check_type("Images", images, Tensor)
        given = len(x)
        x = self._batch(x, views)
        if isinstance(self.objective, Batchwise):
            self._check_batch(self.objective, len(x), given * (1 + len(views)))
        factors = self._factors(x, factors)
        self.build(x, factors)
        rank = dist.get_rank() if processes() > 1 else 0  # each process has noise of its own
        seed = torch.tensor(self.seed + rank, device=x.device)
        step = Step(x, seed, self.t.clone(), self.n_data, factors)
        objective, net = at(self.objective, step.t, x.dtype), self.net()
        terms = {"net": objective.terms(net, step)}
        if isinstance(objective, Adversarial):
            terms["critic"] = objective.critic_terms(net, step)
        if self.training:
            self.carried.update(carried(terms, self.carried))
            self.t += 1
        return Losses(terms)

    def _check_batch(self, objective: Batchwise, images: int, given: int) -> None:
        each, needed = views_of(self.objective), objective.least_batch
        if images // each < needed and each > 1:
            raise ConfigError(
                f"{type(objective).__name__} compares samples of {each} images each and needs "
                f"{needed * each} images or more; got {given}."
            )
        objective.check_batch(images // each, self.n_data)

    def backward(self, losses: Losses) -> None:
        """Add the gradients to ``.grad``: of the total for the net, of its own loss for the critic.

        Args:
            losses: From `losses`.
        """
        check_type("losses", losses, Losses)
        for name, terms in losses.terms.items():
            weights = [w for w in self.weights(name).values() if w.requires_grad]
            gradients = torch.autograd.grad(
                total(terms), weights, retain_graph=len(losses.terms) > 1, materialize_grads=True
            )
            for weight, gradient in zip(weights, gradients, strict=True):
                if processes() > 1:  # hooks of PyTorch's wrappers see backward() alone
                    dist.all_reduce(gradient)
                    gradient /= processes()
                weight.grad = gradient if weight.grad is None else weight.grad + gradient

    def step(self, losses: Losses) -> None:
        """Take the gradients and move all weights, those of a critic too.

        Args:
            losses: From `losses`.
        """
        check_type("losses", losses, Losses)
        now = self.t - 1
        for name in losses.terms:
            if name not in self._optimizers:
                weights = {n: w for n, w in self.weights(name).items() if w.requires_grad}
                self._optimizers[name] = torch_optimizer(weights, self.optim_of(name))
            self._optimizers[name].zero_grad()
        self.backward(losses)
        for name in losses.terms:
            move_weights(self._optimizers[name], self.optim_of(name), now)

    def weights(self, part: str = "net") -> dict[str, nn.Parameter]:
        """Parameters by name: of the ``net``, with the objective's own, or of the ``critic``.

        Args:
            part: ``net`` or ``critic``.
        """
        check_hint("part", part, Literal["net", "critic"])
        named = dict(self.named_parameters())
        return {n: w for n, w in named.items() if loss_of(n) == part}

    def posterior(self, x: Tensor) -> Posterior:
        """What the encoder says of images."""
        check_type("Images", x, Tensor)
        with taking("encoder", x):
            return self._posterior(x)

    def _posterior(self, x: Tensor) -> Posterior:
        mean, logvar = split_encoding(self.encoder(x))
        return Posterior(mean, logvar)

    @torch.no_grad()
    def encode(self, x: Tensor) -> Tensor:
        """Codes of images: the posterior means."""
        self.build(x)
        q = self.posterior(x)
        return recode(self.objective, self.net(), q).mean

    @torch.no_grad()
    def decode(self, z: Tensor) -> Tensor:
        """Images of codes: probabilities, or means; of counts, log1p of their expected shares."""
        check_type("z", z, Tensor)
        with taking("decoder", z):
            decoded = self.decoder(z)
        return activate(likelihood_of(self.objective), decoded)

    def net(self) -> Net:
        """The modules as an objective sees them."""
        extra = {**dict(self.extra.items()), **self.carried}
        critic = no_critic if self.critic is None else self.critic
        features = partial(layer_outputs, self.decoder)
        return Net(self._posterior, self.decoder, critic, extra, features)

    def _batch(self, x: Tensor, views: tuple[Tensor, ...]) -> Tensor:
        """All images of the samples, view after view."""
        count = views_of(self.objective)
        if not views and count > 1 and sampler_of(self.objective) == "singles":
            return x[: len(x) // count * count]
        if len(views) + 1 != count:
            raise ShapeError(
                f"{type(self.objective).__name__} takes {count} images for each sample: "
                f"losses(x1, x2, ...); got {len(views) + 1}."
            )
        return torch.cat([x, *views]) if views else x

    def _factors(self, x: Tensor, factors: Tensor | None) -> Tensor | None:
        """The factors of a batch for an objective that is told them; None for another."""
        if not isinstance(self.objective, Labelled):
            if factors is not None:
                raise ConfigError(f"{type(self.objective).__name__} takes no factors; got some.")
            return None
        name = type(self.objective).__name__
        if factors is None:
            raise ConfigError(f"{name} is told factors of its images: losses(x, factors=...).")
        check_type("factors", factors, Tensor)
        if factors.ndim != 2 or len(factors) != len(x):
            raise ShapeError(
                f"{name} takes the factors of its {len(x)} images, [{len(x)}, factors]; got "
                f"{tuple(factors.shape)}."
            )
        if bool(((factors < 0) | (factors > 1)).any()):
            raise DataError(
                f"Factors must lie in [0, 1], or be NaN where unknown; these go from "
                f"{factors.nan_to_num(0.5).min():g} to {factors.nan_to_num(0.5).max():g}."
            )
        return factors.to(x)

    @property
    def views(self) -> int:
        """Images of a sample that `losses` takes apart; 1 where they are independent."""
        return 1 if sampler_of(self.objective) == "singles" else views_of(self.objective)

    def optim_of(self, part: str) -> Optimizer:
        """Settings of the optimiser of the ``net`` or the ``critic``."""
        check_hint("part", part, Literal["net", "critic"])
        if part == "critic" and isinstance(self.objective, Adversarial):
            return self.objective.critic_optim
        return self.optim

    def _check_decoded(self, decoded: Tensor, x: Tensor) -> None:
        """Refuse another shape than that of images, and question outputs that are no logits."""
        counts = likelihood_of(self.objective) == "negative_binomial"  # it gives dispersions, too
        if not counts and decoded.shape != x.shape:
            raise ShapeError(
                f"The decoder must give images {tuple(x.shape)} for {len(x)} codes; got "
                f"{tuple(decoded.shape)}."
            )
        question_logits(decoded, self.objective)
