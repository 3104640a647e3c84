"""Words: what they are, and which say nothing of a text."""

from __future__ import annotations

import re

from knotwork.nlp import STOP_WORDS
from knotwork.text import CJK


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MONTHS = words(
    """
    january february march april may june july august september october november december jan feb mar apr jun
    jul aug sep sept oct nov dec
    """
)
_COMMON = words(
    """
    say says said saying tell tells told ask asks asked answer answered agree agreed reply replied speak spoke cry cried
    think thinks thought know knows known knew see sees seen saw look looks looked looking seem seems seemed appear
    appears appeared come comes came coming go goes went gone going get gets got getting give gives gave giving take
    takes took taken taking make makes made making put puts keep keeps kept lets leave leaves left find finds found use
    uses used using want wants wanted need needs needed try tries tried call calls called show shows shown showed become
    becomes became begin begins began begun start started turn turns turned stand stood sit sat hold held bring brought
    hear heard feel felt follow follows followed following include includes included including remain remains remained
    continue continued run ran move moved set help helped work works worked play read provide provides provided allow
    allows allowed lead led based concerning regarding related add added born died click new old good better best bad
    great greater greatest large larger largest big small smaller little high higher highest low lower long longer short
    early late main major minor common general special certain different similar particular possible impossible able
    available important significant various many full real true right wrong sure whole entire half double single recent
    current present former previous next last other another likely unlikely first second third one two three four five
    six seven eight nine ten eleven twelve hundred thousand million billion dozen number numbers lot lots kind kinds
    sort sorts way ways thing things bit part parts case cases example examples fact people person man men woman women
    mr mrs ms dr sir time times day days week weeks month months year years hour hours minute minutes moment monday
    tuesday wednesday thursday friday saturday sunday just only still well now back down up away both all most few far
    enough over under inside outside round widely mainly mostly highly no will image images page pages http https www
    com org html pdf login menu
    """
)
STOP = STOP_WORDS | MONTHS | _COMMON  # what says nothing of a text: function words, and what is at home in any

# Characters that hold a Chinese sentence together (Japanese: all hiragana), and those no word begins or ends with …
_BREAK = "的了吗呢吧啊着们这那你我他她它您哪谁很也都又就才却而且但并或若虽之乎者矣焉兮\u3041-\u309f"
ZH_EDGE = frozenset(
    "和与及是在有为于以从向到由对被把将让使给跟同比按据至自因所其该此每各某个些只还再已曾会能可要想应需不没无非未"
    "更最太等如则便仍即里上下中内外前后间时说称道去来做年月日号第一二三四五六七八九十百千万亿两几多少"
)
ZH_FIRST = frozenset("不无非未中上下内外前三日应")  # … but for these, which begin many,
ZH_LAST = frozenset("会能间号中")  # … and these, which end many
ZH_COMMON = words(
    """
    表示 可以 进行 目前 没有 已经 相关 记者 报道 通过 以及 因为 所以 如果 但是 一个 这个 可能 需要 认为 成为 包括 其中
    同时 此前 今年 去年 近日 今日 昨日 消息 问题 工作 方面 情况 对于 关于 由于 根据 按照 为了 不是 就是 还是 或者 有关
    并且 而且 虽然 然而 因此 其他 任何 所有 部分 主要 重要 正在 开始 出现 发现 介绍 指出 强调 来源 原标题 标题 责任 编辑
    图片 声明 文章 内容 本文 正文 网站 公开 显示 提供 实现 作为 当前 之后 之前 之间 以来 以上 以下 左右 发生 存在 使用
    继续 进一步 人员 时间 过程 方式 一些 许多 什么 怎么 如何 自己 大家 万元 亿元 美元 人民币 千米 公里 开展 加强 推进
    推动 加快 积极 全面 得到 受到 做好 发布 宣布 获悉 了解 告诉 来自 具有 拥有 这些 那些 现在 今天 昨天 明天 未来 最后
    首先 其次 不会 不能 不断 接受 采访 前后 上下 中间 日前 日电 上午 下午 下面 上面 不同 不少 不过 不仅 不得 不到 不要
    无法 无论 应当 应该 提高 下降 增长 超过 达到 约为 预计 同比 环比 广告 转载
    """
)

_LETTER = rf"(?:(?![{CJK}])[^\W_])"
LATIN_WORD = re.compile(rf"{_LETTER}+(?:['’&.-]{_LETTER}+)*")  # of any script with letters
HAN = re.compile(f"[{CJK}]")
HAN_RUN = re.compile(f"(?:(?![{_BREAK}])[{CJK}])+")
HAS_WORD = re.compile(r"[^\W_]")
HAS_LETTER = re.compile(r"[^\W\d_]")


def singular(word: str) -> str:
    """A word's form without a plural s; one form for what a reader takes for one word, not always a word itself."""
    if len(word) < 4 or not word.endswith("s") or word.endswith("ss"):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("sses", "shes", "ches", "xes")) else word[:-1]


def terms(said: str) -> tuple[str, ...]:
    """The words that say something, folded, each once: words in letters, pairs of Chinese characters."""
    found = [
        singular(word.removesuffix("'s"))
        for word in LATIN_WORD.findall(said.lower().replace("’", "'"))
        if len(word) > 2 and word not in STOP
    ]
    for run in HAN_RUN.findall(said):
        pairs = (run[i : i + 2] for i in range(len(run) - 1))
        found += [pair for pair in pairs if pair not in ZH_COMMON and not ZH_EDGE.issuperset(pair)]
    return tuple(dict.fromkeys(found))
